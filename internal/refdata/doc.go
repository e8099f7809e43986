// Package refdata loads the reference sets of a mapping (S0-8: foreign keys resolve) and keeps them up to date. A set
// is a CSV file with a header line, a file with one JSON object per line, or a compacted topic, and the column or
// member that contains the keys. Without a member, the record keys of a topic are the keys.
//
// All sets are read before the start, and an unreadable set stops the start. While the process runs, changed files
// are read again, and topics are followed: a tombstone removes its key. If a changed file cannot be read, the set
// stays as it was and the error is reported, so that an incomplete file never turns good records into dead letters.
// The same holds for a record without a key.
//
// Grid files of coordinate transformations are the other reference data: [OpenGrids] reads them once, when a process
// or a command starts, and does not watch them. The package downloads nothing.
//
// It does not query databases, and it does not guess: a missing column, a malformed line or record, a topic that is
// not compacted, and a set without keys are errors with their position.
package refdata
