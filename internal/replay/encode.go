package replay

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// encoded is a batch as one transaction writes it. It is valid only after the trail that it was encoded for. Its dead
// letters are encoded one by one while the client packs and sends the earlier ones.
type encoded struct {
	service *Service
	staged  []staged
	own     []*kgo.Record   // the operation's own event, before the dead letters
	ready   [][]*kgo.Record // the records of each staged dead letter, if all are encoded already
	trail   *trail          // its state after the commit
}

// encode starts to encode a batch after a trail. It sends nothing and does not change the trail.
func (s *Service) encode(batch []staged, t *trail) (*encoded, error) {
	e := &encoded{service: s, staged: batch, trail: t.continued()}
	return e, e.open()
}

// letter returns the records of a staged dead letter. They must be requested in order.
func (e *encoded) letter(i int) ([]*kgo.Record, error) {
	if e.ready != nil {
		return e.ready[i], nil
	}
	return e.service.records(&e.staged[i], e.trail)
}

// heads returns the heads of the audit chains after the last dead letter.
func (e *encoded) heads() ([]*kgo.Record, error) {
	if e.ready != nil {
		return nil, nil
	}
	return e.trail.headRecords()
}

// open encodes the operation's own event, unless it is written already.
func (e *encoded) open() error {
	if e.trail.own == nil {
		return nil
	}
	r, err := e.trail.record(*e.trail.own, 0)
	e.own, e.trail.own = []*kgo.Record{r}, nil
	return err
}

// records returns what one transaction writes for one dead letter.
func (s *Service) records(d *staged, t *trail) ([]*kgo.Record, error) {
	partition := d.letter.DLQ.Partition
	status := partition % max(t.statusPartitions, 1) // a DLQ without a pipeline may have more partitions than when its status topic was created
	var out []*kgo.Record
	if d.record != nil {
		again := *d.record // the client keeps the context of a first attempt in the record
		again.Context = nil
		out = append(out, &again)
	}
	if d.gone {
		out = append(out, &kgo.Record{Topic: s.cfg.Topics.DLQStatus, Partition: status, Key: []byte(d.letter.ID)})
	} else {
		out = append(out, d.next.Record(s.cfg.Topics.DLQStatus, status))
	}
	event, err := t.record(d.event, partition)
	if err != nil {
		return nil, err
	}
	return append(out, event), nil
}

// trail assigns audit events their places in the chains, one for each partition of the audit topic.
type trail struct {
	topic, statusTopic string
	partitions         int32 // of the audit topic
	statusPartitions   int32
	heads              map[int32]audit.Head
	moved              map[int32]bool
	own                *audit.Event // event of the operation itself: its start, written with the first dead letters, or its end; nil when it is written
}

// continued returns a trail for one transaction. It becomes the writer's after the commit.
func (t *trail) continued() *trail {
	next := *t
	next.heads, next.moved = maps.Clone(t.heads), map[int32]bool{}
	return &next
}

// record chains an event and returns its record.
func (t *trail) record(e audit.Event, shard int32) (*kgo.Record, error) {
	p := shard % max(t.partitions, 1)
	r, head, err := e.Chained(audit.Operators, t.heads[p], t.topic, p)
	if err != nil {
		return nil, err
	}
	t.heads[p], t.moved[p] = head, true
	return r, nil
}

// headRecords returns the records that store the heads in the status topic, in the same transaction as the events.
func (t *trail) headRecords() ([]*kgo.Record, error) {
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
