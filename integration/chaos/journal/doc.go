// Package journal is the format in which a worker of the chaos suite records every step of every record, in the
// transaction of the step. Each journaled step has therefore taken effect, in the order of its partition.
//
// Decisions and sources have the names of the audit trail (architecture, section 4), so the same checker can read both.
package journal
