// Package replay says what today's transform would make of dead letters, puts them back into the source
// topic, each once, and does what else operators do with them: edit, discard, escalate, reopen, prune.
//
// It prints nothing and asks nothing: command line and consoles stand on top of [Service].
//
// # What it promises
//
//   - Every letter is put back once, whatever happens: a second run, two operators at once, a
//     crash between any two steps. Less formally: you may always press the key again.
//   - Of letters of one key with one content hash, the one that was first read last is put back; the others become duplicate
//     (C-4, docs/decisions/0033).
//   - Key, partition, bytes and the producer's own headers of a letter are what they were.
//   - A letter is sent back together with its new state and an audit event, or not at all; every other
//     change comes with its audit event too. These events are chained (internal/audit).
//
// # How
//
// All writing of one source topic goes through one transactional id. Starting fences the one that
// wrote before and ends its open transaction; only then is the status topic read to its end, and
// only what that says is acted on. A fenced replayer can commit nothing more, so what was read
// stays true (docs/decisions/0002-fence-replayers-and-name-the-one-at-work-by-a-lease.md).
//
// execution.go carries every change out, step by step. Before it fences anybody it looks at the lease (leasestate.go): another call that is
// at work, in this process or elsewhere, is waited for or left alone.
//
// # What it does not do
//
// It does not know how a replay ends: the consumer that finishes a replayed record writes the
// letter's closing state, and a replay in waves only waits for it. Dry runs call no remote step. Nothing but
// pruning removes anything from the DLQ, and that only from the front
// (docs/decisions/0020-prune-dead-letters-from-the-front.md).
package replay
