package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// staged is what one transaction does with one letter: perhaps a record of it, its new state, and an audit
// event.
type staged struct {
	letter *deadletters.Letter
	record *kgo.Record // the letter as it goes back, or as it was edited; nil when only the state changes
	sends  bool        // record goes back to the pipeline
	prev   deadletters.State
	next   deadletters.State // zero with gone
	gone   bool              // the letter is forgotten: a tombstone in place of a state
	event  audit.Event
}

// operation is what all letters of one command have in common.
type operation struct {
	id     string // the replay's, or of the change
	by     string
	reason string
	plan   string // checksum
	filter string // JSON
	word   string // what is done, for the audit trail: "replay", "discard", …
	force  string // why letters may overwrite newer data; "" when they may not
}

// begin is the audit event that an operation starts with: who, why, which filter, which plan.
func (s *Service) begin(op operation, letters int) audit.Event {
	message := fmt.Sprintf("%s of %d dead letters by %s", op.word, letters, op.by)
	if op.force != "" {
		message += ", forced: they may overwrite newer data"
	}
	return audit.Event{
		Time: s.now(), Pipeline: s.cfg.Pipeline.ID, RunID: op.id, Decision: audit.Operation, Reason: op.reason,
		By: op.by, Plan: op.plan, Filter: clip(op.filter, maxFilter), Force: op.force, Key: []byte(op.id),
		Message: message,
	}
}

// maxFilter bounds the filter in an audit event; a filter that names thousands of ids is cut.
const maxFilter = 16 << 10

// event is the audit event of one letter, without what differs by the kind of operation.
func (s *Service) event(op operation, d *staged, decision audit.Decision) audit.Event {
	l, c := d.letter, d.letter.Control
	e := audit.Event{
		Time: d.next.At, Pipeline: s.cfg.Pipeline.ID, RunID: op.id, FeatureID: c.FeatureID, ContentHash: l.ContentHash,
		Decision: decision, Reason: d.next.Reason, Code: c.ErrorCode, Class: c.ErrorClass, Stage: c.ErrorStage,
		Attempt: c.Attempt, Key: l.Key, Letter: l.ID, By: op.by, Plan: op.plan, Before: l.ContentHash, After: l.ContentHash,
		Message: fmt.Sprintf("dead letter %s: %s -> %s by %s", l.ID, cmp.Or(d.prev.Status, deadletters.Pending), d.next.Status, op.by),
	}
	if d.gone {
		e.Time, e.Reason = s.now(), op.reason
		e.Message = fmt.Sprintf("dead letter %s: %s, pruned by %s", l.ID, d.prev.Status, op.by)
	}
	if c.HasSource {
		e.Source = c.Source.String()
	}
	return e
}

// trail gives audit events their places in the chains, one for each partition of the audit topic.
type trail struct {
	topic, statusTopic string
	partitions         int32 // of the audit topic
	statusPartitions   int32
	heads              map[int32]chain.Link
	moved              map[int32]bool
}

// continued is a trail for one transaction; it becomes the writer's once that is committed.
func (t *trail) continued() *trail {
	next := *t
	next.heads, next.moved = maps.Clone(t.heads), map[int32]bool{}
	return &next
}

// record chains an event and gives its record.
func (t *trail) record(e audit.Event, shard int32) (*kgo.Record, error) {
	p := shard % max(t.partitions, 1)
	r, link, err := e.Chained(t.heads[p], t.topic, p)
	if err != nil {
		return nil, err
	}
	t.heads[p], t.moved[p] = link, true
	return r, nil
}

// headRecords keep the last links in the status topic, in the same transaction as the events.
func (t *trail) headRecords() ([]*kgo.Record, error) {
	var out []*kgo.Record
	for _, p := range slices.Sorted(maps.Keys(t.moved)) {
		value, err := json.Marshal(chainHead{Partition: p, Link: t.heads[p]})
		if err != nil {
			return nil, fmt.Errorf("encode the head of the audit chain %d: %w", p, err)
		}
		out = append(out, &kgo.Record{
			Topic: t.statusTopic, Partition: p % max(t.statusPartitions, 1), Key: deadletters.ChainHeadKey(p), Value: value,
		})
	}
	return out, nil
}

// addHead takes over the head of a chain.
func (s *standing) addHead(r *kgo.Record) {
	var head chainHead
	if json.Unmarshal(r.Value, &head) == nil {
		s.heads[head.Partition] = head
	}
}

// records gives what one transaction writes for one letter.
func (s *Service) records(d *staged, t *trail) ([]*kgo.Record, error) {
	partition := d.letter.DLQ.Partition
	var out []*kgo.Record
	if d.record != nil {
		again := *d.record // the client keeps the context of a first try in the record
		again.Context = nil
		out = append(out, &again)
	}
	if d.gone {
		out = append(out, &kgo.Record{Topic: s.cfg.Topics.DLQStatus, Partition: partition, Key: []byte(d.letter.ID)})
	} else {
		out = append(out, d.next.Record(s.cfg.Topics.DLQStatus, partition))
	}
	event, err := t.record(d.event, partition)
	if err != nil {
		return nil, err
	}
	return append(out, event), nil
}
