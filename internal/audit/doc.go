// Package audit is the shape of one audit event and its record in the topic
// `<source>.audit`: what was decided about one feature, when, and why.
//
// An event is never sent by itself. It rides in the transaction of the decision that it
// speaks of, so that the trail has neither a decision that did not happen nor a gap. For that
// reason the package has no client, no buffer and no level to switch it off: it gives a record,
// and the caller produces it. It never holds a payload; a message is cut to [MaxMessage].
//
// Its callers are the consumer (internal/app) and the replayer (internal/replay).
package audit
