// Package refdata loads the reference sets of a mapping (S0-8: foreign keys
// resolve) and keeps them up to date. A set is a CSV file with a header line, one
// JSON object per line, or a compacted topic, and the column or member that holds
// the keys; the keys of a topic's records where no member is named.
//
// All sets are read before the start; one that cannot be read stops it. While the
// process runs the files are looked at again, one that changed is read again, and
// the topics are followed: a tombstone takes its key away. A file that then cannot
// be read leaves the set as it was, as a record does that gives no key, and both
// are reported, so that a half-written file never turns good records into dead
// letters.
//
// Grid files of the coordinate transformation are the other reference data: [OpenGrids] reads them once, when a process or a command
// starts, and does not watch them. The package downloads nothing.
//
// It asks no data base, and it does not guess: a column that is not there, a line
// or record that is not what it should be, a topic that is not compacted, and a
// set with no key at all are errors with their place.
package refdata
