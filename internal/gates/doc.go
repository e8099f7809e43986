// Package gates counts the records of one instance and reports when a tolerance of the pipeline is exceeded: fields
// of mapped features without a value (S0-2, S0-9), records whose first attempt fails transiently (S1-8), and dead
// letters (S4-9). Each is counted over a sliding window; empty fields and dead letters also per batch that the
// producer names (S4-1). It also compares the coordinates of the source with the precision floor (S0-9).
//
// A record counts once. While its attempt is in flight, the record counts as one that does not fail, so fast failures
// do not outrun slow successes that began before them (docs/decisions/0088).
//
// The caller decides what follows, such as pausing the pipeline or quarantining the batch. The package gets the time
// from its caller, and its counts end with the process. It does not see missing required fields, because these
// features fail earlier.
package gates
