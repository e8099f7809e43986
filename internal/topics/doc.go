// Package topics defines which topics a pipeline needs and with which settings. It creates missing ones, and lists the
// faults of existing ones, each with the command that fixes it.
//
//	topic            partitions   clean-up   kept        why
//	source           planned      owner's    owner's     the producer's own
//	retry tiers      as source    delete     forever     waiting records must survive a stopped consumer; the engine purges
//	dlq              as source    delete     forever     a dead letter waits for an operator
//	output           planned      owner's    owner's     the user's own; it accepts what the source accepts
//	state            as source    compact    -           waiting keys, versions and the checkpoint, by partition
//	ledger           as source    delete     window      the last effective event of each key, as long as dedupe.window
//	dlq-status       as source    compact    -           the state of each dead letter, in its partition
//	audit            planned      delete     1 year      longer is fine
//	control          1            compact    -           orders for all instances
//
// Tiers and DLQ accept messages 16 KiB larger than the source does, so that a maximal record fits with its headers.
//
// The package never changes or deletes an existing topic. It prints nothing: Report and Fault are data.
package topics
