// Package transaction assembles the content of one Kafka transaction of a session: the outputs of finished tasks, the
// changes of keys, the positions, the checkpoints and the heads of hash chains. It builds the records to produce, and
// the commits.
//
// A Content belongs to the goroutine that commits. The package has no client: it does not know whether a transaction
// committed. The outputs of one that did not end are copied (Salvage) or cleared (Unsend) before they are sent again.
package transaction
