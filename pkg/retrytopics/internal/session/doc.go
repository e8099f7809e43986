// Package session runs one Kafka client: one group member and one transactional producer, from joining the group
// until an error that only another client can repair.
//
//	poll ──▶ accept ──▶ schedule ──▶ attempts ──▶ stage ──▶ produce and commit ──▶ afterCommit
//	  ▲                                                        │ aborted
//	  └────────────── rewind: read again from the last commit ◀─┘
//
// One goroutine polls, accepts and commits (turn). Workers make attempts concurrently. Another goroutine does housekeeping:
// it looks at the ends of the partitions, purges retry topics and finds re-created topics. The group's callbacks run while
// a turn polls.
//
// Session.mu guards the partitions, their states, the assignment and the tasks of an aborted transaction. The scheduler and
// the memory of a partition have a mutex each, which are taken after it.
//
// The package decides nothing about a record (attempt), keeps no order of keys (memory) and starts no session after its
// own (engine).
package session
