// Package tolerance counts what one instance sees of a pipeline and says when an error threshold of the pipeline is exceeded:
// fields of mapped features that have no value (S0-2, S0-9), records whose first attempt fails
// transiently (S1-8), records that
// die (S4-9); each over a sliding window, and the first and the last also per batch that the producer names (S4-1). It holds
// the coordinates of the source against the floor of their precision as well (S0-9).
//
// A record counts once, and while its attempt is in flight it counts as one that does not fail: what fails at once does not
// outrun what succeeds slowly and began before (docs/decisions/0088).
//
// What follows from it, such as holding the pipeline or quarantining the batch, others decide. The package is given the time
// and keeps no clock; what it counts is gone with the process. It does not look at required fields, since a feature without
// one never comes here.
package tolerance
