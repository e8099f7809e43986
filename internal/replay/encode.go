package replay

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// encoded is a batch as one transaction writes it. It is only good behind the trail that it was encoded for. Its letters are encoded one
// by one, as they are sent: the client packs and sends those before meanwhile.
type encoded struct {
	service *Service
	staged  []staged
	own     []*kgo.Record   // the operation's own event, ahead of the letters
	ready   [][]*kgo.Record // of each staged letter, when nothing is to be encoded any more
	trail   *trail          // as it is once this is committed
}

// encode begins a batch that follows on a trail. Nothing is sent, and the trail stays as it is.
func (s *Service) encode(batch []staged, t *trail) (*encoded, error) {
	e := &encoded{service: s, staged: batch, trail: t.continued()}
	return e, e.open()
}

// letter gives the records of a staged letter. They are asked for one after another.
func (e *encoded) letter(i int) ([]*kgo.Record, error) {
	if e.ready != nil {
		return e.ready[i], nil
	}
	return e.service.records(&e.staged[i], e.trail)
}

// heads gives where the chains of the audit topic end, behind the last letter.
func (e *encoded) heads() ([]*kgo.Record, error) {
	if e.ready != nil {
		return nil, nil
	}
	return e.trail.headRecords()
}

// open encodes the operation's own event, unless that is written already.
func (e *encoded) open() error {
	if e.trail.own == nil {
		return nil
	}
	r, err := e.trail.record(*e.trail.own, 0)
	e.own, e.trail.own = []*kgo.Record{r}, nil
	return err
}

// records gives what one transaction writes for one letter.
func (s *Service) records(d *staged, t *trail) ([]*kgo.Record, error) {
	partition := d.letter.DLQ.Partition
	status := partition % max(t.statusPartitions, 1) // a DLQ without a pipeline may have grown since its status topic was made
	var out []*kgo.Record
	if d.record != nil {
		again := *d.record // the client keeps the context of a first try in the record
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

// trail gives audit events their places in the chains, one for each partition of the audit topic.
type trail struct {
	topic, statusTopic string
	partitions         int32 // of the audit topic
	statusPartitions   int32
	heads              map[int32]audit.Head
	moved              map[int32]bool
	own                *audit.Event // of the operation itself: how it began, written with its first letters, or how it ended; nil once it is written
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
	r, head, err := e.Chained(audit.Operators, t.heads[p], t.topic, p)
	if err != nil {
		return nil, err
	}
	t.heads[p], t.moved[p] = head, true
	return r, nil
}

// headRecords keep the heads in the status topic, in the same transaction as the events.
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
