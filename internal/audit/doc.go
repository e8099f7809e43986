// Package audit defines an audit event and its record in the topic `<source>.audit`: the decision about one feature,
// its time and its reason. It also defines the hash chains that link some of these events.
//
// An event is part of the transaction of its decision, so the trail has neither a decision that did not happen nor a
// gap. The package therefore has no buffer and no level to switch it off: it returns a record, and the caller
// produces it. An event never has a payload; a message is cut to [MaxMessage].
//
// A [Chain] numbers its entries. Each has the hash of the previous entry, and a hash over both and its own canonical
// JSON (RFC 8785). Changing, removing, adding or reordering an entry breaks the chain at that place, and [Verify]
// names it. Nothing is signed: anyone who can rewrite the whole chain, from the changed entry to its head, can create
// a consistent one. Only an earlier report that was stored elsewhere reveals this.
//
// [Filter] selects events, and [Actions] sums up what operators did, by the events that were committed.
//
// Its callers are the consumer (internal/consumer, internal/governance), the orders (internal/control) and the
// replayer (internal/replay).
package audit
