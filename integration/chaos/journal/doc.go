// Package journal is the form in which a worker of the chaos suite writes down
// every step of every record, in the transaction of the step: what is there has
// happened, and in the order of its partition.
//
// The names decision and source are those of the audit trail (architecture,
// section 4), so that the same checker reads it.
package journal
