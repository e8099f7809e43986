// Package attempt calls a handler for one record: within its time, again at once if its failure asks for it, and with a
// panic as an error of that record alone. It also finds handlers that run on after their time.
//
// The package does not know what a handler answers. It decides nothing about the record, and touches no topic and no
// memory.
package attempt
