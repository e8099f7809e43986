// Package topics knows which topics a pipeline needs and how each must be, creates those that are missing, and says what
// is wrong with those that are there, each time with the command that fixes it.
//
//	topic            partitions   clean-up   kept        why
//	source           planned      owner's    owner's     the producer's own
//	retry tiers      as source    delete     for ever    what waits must survive a stopped consumer; the engine purges
//	dlq              as source    delete     for ever    nobody has looked at a dead letter yet
//	output           planned      owner's    owner's     the user's own; it takes what the source takes
//	state            as source    compact    -           waiting keys, versions and the checkpoint, by shard
//	ledger           as source    delete     window      what took effect last for each key, as long as dedupe.window
//	dlq-status       as source    compact    -           a letter's state stands beside the letter
//	audit            planned      delete     1 year      longer is fine
//	control          1            compact    -           one word for the whole fleet
//
// Tiers and DLQ take messages 16 KiB larger than the source does, so that a maximal record still fits with its headers.
//
// The package refuses to change or delete a topic that exists. It prints nothing: Report and Fault are data.
package topics
