// Package jobs records in the control topic which replayer is at work, and how far its job is.
//
// A [Lease] keeps replayers apart before one of them fences the others: a starting replayer waits for the one at work,
// refuses to start, or takes over. leasestate.go decides, without a topic or a clock (docs/decisions/0002). Each
// renewal of the lease writes the record of the [Job], and reads the orders of operators for it: pause, resume, cancel.
// A [Registry] lists the jobs of all replayers, and writes orders.
//
// A lease does not keep two replayers from writing at once; the transactional ID does. A job runs without its record.
package jobs
