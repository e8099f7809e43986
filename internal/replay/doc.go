// Package replay predicts what today's transform makes of dead letters, puts each back into the source topic once,
// and carries out what else operators do with them: edit, discard, escalate, reopen, prune.
//
// It prints nothing and asks nothing: the command line and the console use [Service].
//
// # Guarantees
//
//   - Every dead letter is put back once, even after a second run, with two operators at once, or after a crash between any two steps. An operator can always repeat a command.
//   - Of dead letters with one key and one content hash, the one that was first read last is put back; the others become duplicates (C-4, docs/decisions/0033).
//   - Key, partition, bytes and the producer's own headers of a dead letter do not change.
//   - A dead letter is put back together with its new state and an audit event, or not at all. Every other change has its audit event too. A hash chain links these events (internal/audit).
//
// # How it works
//
// All replayers of one source topic write with one transactional ID. Starting one fences the earlier one and ends its
// open transaction. Only then does it read the status topic to its end and act on it. A fenced replayer cannot
// commit, so what was read stays true (docs/decisions/0002-fence-replayers-and-name-the-one-at-work-by-a-lease.md).
//
// execution.go carries out every change, step by step. The steps are packages of their own:
//
//   - operation: who runs what, and why
//   - statestore: whether topics or a directory keep states, audit events, jobs and the lease
//   - jobs: which replayer is at work, and how far it is; orders to pause and cancel
//   - states: which state each dead letter has, and what became of each replay
//   - plan: the dead letters of a replay, fixed in a file
//   - target: where dead letters go, and which record goes there
//   - versions: which event took effect last for a key
//   - dryrun, rewrite, patch: what today's mapping makes of a dead letter, and other values for it
//   - ramp: the sizes of waves
//   - transaction: records, states and audit events of one batch, or nothing
//
// # Limits
//
// The package does not decide how a replay ends: the consumer that finishes a replayed record writes the dead
// letter's closing state, and a replay in waves only waits for it. Dry runs do not call remote steps. Only pruning
// removes records from the DLQ, and only from the front (docs/decisions/0020-prune-dead-letters-from-the-front.md).
package replay
