// Package statetopic reads and writes the records of the state topic: what an engine remembers of a partition across
// restarts. There is one checkpoint for each partition, the order of each record key of which a record waits or is a
// dead letter, and the newest version of each key.
//
// It is pure: it implements formats and their versions, refuses records that no engine wrote, and decides nothing
// from their content.
package statetopic
