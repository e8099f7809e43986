// Package refdata loads the reference sets of a mapping (S0-8: foreign keys
// resolve) and keeps them up to date: a CSV file with a header line, or one JSON
// object per line, and the column or member that holds the keys.
//
// All sets are read before the start; a file that cannot be read stops it. While
// the process runs the files are looked at again, and one that changed is read
// anew. A file that then cannot be read leaves the set as it was, and is
// reported, so that a half-written file never turns good records into dead
// letters.
//
// It asks no data base and no topic, and it does not guess: a column that is not
// there, a line that is not what it should be, and a file with no key at all are
// errors with their place.
package refdata
