// Package audit is the shape of one audit event and its record in the topic `<source>.audit`: what was decided about one feature,
// when, and why; and the chains of hashes that tie some of these events together.
//
// An event is never sent by itself. It rides in the transaction of the decision that it speaks of, so that the trail has neither a
// decision that did not happen nor a gap. For that reason the package has no buffer and no level to switch it off: it gives a record,
// and the caller produces it. It never holds a payload; a message is cut to [MaxMessage].
//
// A [Chain] numbers its entries. Each has the hash of the entry before it, and a hash over both and over its own canonical JSON (RFC
// 8785). Changing, removing, adding or reordering an entry breaks the chain at that place, and [Verify] says where. Nothing is
// signed: who can rewrite the whole chain, from the changed entry to its head, can make one that fits. What was reported before and kept
// elsewhere shows that.
//
// Its callers are the consumer (internal/consumer, internal/governance), the orders (internal/control) and the replayer (internal/replay).
package audit
