package transaction

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// encoded is a batch as one transaction writes it. It continues the audit chains of the writer. Its dead
// letters are encoded one by one while the client packs and sends the earlier ones.
type encoded struct {
	statusTopic string
	changes     []*Change
	own         []*kgo.Record   // the operation's own event, before the dead letters
	ready       [][]*kgo.Record // the records of each change, if all are encoded already
	chains      *chains         // their state after the commit
}

// encode starts to encode a batch. It sends nothing and does not change the chains of the writer.
func (w *Writer) encode(batch []*Change) (*encoded, error) {
	e := &encoded{statusTopic: w.config.Store.Topics.DLQStatus, changes: batch, chains: w.chains.continued()}
	return e, e.open()
}

// change returns the records of a change. They must be requested in order.
func (e *encoded) change(i int) ([]*kgo.Record, error) {
	if e.ready != nil {
		return e.ready[i], nil
	}
	return e.records(e.changes[i])
}

// heads returns the heads of the audit chains after the last dead letter.
func (e *encoded) heads() ([]*kgo.Record, error) {
	if e.ready != nil {
		return nil, nil
	}
	return e.chains.headRecords()
}

// open encodes the operation's own event, unless it is written already.
func (e *encoded) open() error {
	if e.chains.own == nil {
		return nil
	}
	r, err := e.chains.record(*e.chains.own, 0)
	e.own, e.chains.own = []*kgo.Record{r}, nil
	return err
}

// records returns what one transaction writes for one dead letter.
func (e *encoded) records(d *Change) ([]*kgo.Record, error) {
	t := e.chains
	partition := d.Letter.DLQ.Partition
	status := partition % max(t.statusPartitions, 1) // a DLQ without a pipeline may have more partitions than when its status topic was created
	var out []*kgo.Record
	if d.Record != nil {
		again := *d.Record // the client keeps the context of a first attempt in the record
		again.Context = nil
		out = append(out, &again)
	}
	if d.Gone {
		out = append(out, &kgo.Record{Topic: e.statusTopic, Partition: status, Key: []byte(d.Letter.ID)})
	} else {
		out = append(out, d.Next.Record(e.statusTopic, status))
	}
	event, err := t.record(d.Event, partition)
	if err != nil {
		return nil, err
	}
	return append(out, event), nil
}

// chains assigns audit events their places in the chains, one for each partition of the audit topic.
type chains struct {
	topic, statusTopic string
	partitions         int32 // of the audit topic
	statusPartitions   int32
	heads              map[int32]audit.Head
	moved              map[int32]bool
	own                *audit.Event // event of the operation itself: its start, written with the first dead letters, or its end; nil when it is written
}

// continued returns the chains for one transaction. They become the writer's after the commit.
func (t *chains) continued() *chains {
	next := *t
	next.heads, next.moved = maps.Clone(t.heads), map[int32]bool{}
	return &next
}

// record chains an event and returns its record.
func (t *chains) record(e audit.Event, partition int32) (*kgo.Record, error) {
	p := partition % max(t.partitions, 1)
	r, head, err := e.Chained(audit.Operators, t.heads[p], t.topic, p)
	if err != nil {
		return nil, err
	}
	t.heads[p], t.moved[p] = head, true
	return r, nil
}

// headRecords returns the records that store the heads in the status topic, in the same transaction as the events.
func (t *chains) headRecords() ([]*kgo.Record, error) {
	var out []*kgo.Record
	for _, p := range slices.Sorted(maps.Keys(t.moved)) {
		r, err := deadletters.ChainHead{Partition: p, Head: t.heads[p]}.Record(t.statusTopic, p%max(t.statusPartitions, 1))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
