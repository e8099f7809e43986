// Package pending counts the dead letters of a pipeline that wait for a person: those that are pending or escalated, and how old the
// oldest of them is.
//
// The count comes from the DLQ and the status topic alone, so the consumer and its status command can show it without the replayer's
// index. The first count reads both topics; each later one reads what came since. A letter takes about 100 bytes of memory.
package pending

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Count is how many dead letters wait for a person.
type Count struct {
	Pending   int       // nobody has decided about them
	Escalated int       // marked for a decision by a person
	Replaying int       // put back, and not finished by the consumer
	Oldest    time.Time // when the oldest of the pending and escalated ones first died; zero without any
}

// Waiting is the number of letters that wait for a person.
func (c Count) Waiting() int { return c.Pending + c.Escalated }

// Counter counts the dead letters of one DLQ. It is for one goroutine.
type Counter struct {
	client      *kgo.Client
	dlq, status string
	seed        maphash.Seed
	letters     map[uint64]letter
	states      map[uint64]state
	next        map[string]map[int32]int64 // by topic and partition: the offset after the last one read
}

// letter is what is known of the records of a letter in the DLQ.
type letter struct {
	died      int64 // when it first died, Unix milliseconds
	offset    int64 // of its last record
	partition int32
}

// state is the last state of a letter.
type state struct {
	replay uint64 // of the replay's id
	last   deadletters.Last
}

// New prepares a counter of a DLQ and its status topic. The client must accept answers of deadletters.MaxAnswer bytes.
func New(client *kgo.Client, dlq, status string) *Counter {
	c := &Counter{client: client, dlq: dlq, status: status, seed: maphash.MakeSeed()}
	c.reset()
	return c
}

func (c *Counter) reset() {
	c.letters, c.states = map[uint64]letter{}, map[uint64]state{}
	c.next = map[string]map[int32]int64{c.dlq: {}, c.status: {}}
}

// Read reads what came into both topics since the last call, and counts. After an error the next call goes on from there.
func (c *Counter) Read(ctx context.Context) (Count, error) {
	states, _, err := c.spans(ctx, c.status)
	if err != nil {
		return Count{}, err
	}
	letters, starts, err := c.spans(ctx, c.dlq)
	if err != nil {
		return Count{}, err
	}
	if states == nil || letters == nil { // a topic was re-created
		c.reset()
		return c.Read(ctx)
	}
	err = deadletters.ScanStates(ctx, c.client, c.status, states, func(r *deadletters.StateRecord) error {
		c.takeState(r)
		c.next[c.status][r.At.Partition] = r.At.Offset + 1
		return nil
	})
	if err != nil {
		return Count{}, err
	}
	reading := deadletters.Reading{Decode: func(r *kgo.Record) deadletters.Letter { return deadletters.Decode(r, false) }}
	err = reading.Letters(ctx, c.client, c.dlq, letters, func(l *deadletters.Letter) error {
		c.takeLetter(l)
		c.next[c.dlq][l.DLQ.Partition] = l.DLQ.Offset + 1
		return nil
	})
	if err != nil {
		return Count{}, err
	}
	for topic, spans := range map[string]map[int32]kafka.Span{c.status: states, c.dlq: letters} {
		for p, span := range spans { // past the markers of transactions
			c.next[topic][p] = max(c.next[topic][p], span.End)
		}
	}
	for id, l := range c.letters {
		if l.offset < starts[l.partition] {
			delete(c.letters, id)
		}
	}
	return c.count(), nil
}

// spans returns what is unread of a topic, nil when the topic ends before what was read, and where each partition starts.
func (c *Counter) spans(ctx context.Context, topic string) (unread map[int32]kafka.Span, starts map[int32]int64, err error) {
	spans, err := kafka.Spans(ctx, c.client, topic)
	if err != nil {
		return nil, nil, err
	}
	starts = map[int32]int64{}
	for p, span := range spans {
		next := c.next[topic][p]
		if span.End < next {
			return nil, nil, nil
		}
		starts[p] = span.Start
		spans[p] = kafka.Span{Start: max(span.Start, next), End: span.End}
	}
	return spans, starts, nil
}

func (c *Counter) hash(text string) uint64 { return maphash.String(c.seed, text) }

// takeLetter takes over one record of the DLQ. A record of other software that failed again in its replay is pending again.
func (c *Counter) takeLetter(l *deadletters.Letter) {
	id := c.hash(l.ID)
	died := l.At.UnixMilli()
	if known, again := c.letters[id]; again {
		died = min(died, known.died)
	}
	c.letters[id] = letter{died: died, offset: l.DLQ.Offset, partition: l.DLQ.Partition}
	if deadletters.ReportsOutcome(l) && c.states[id].replay == c.hash(l.Control.ReplayID) {
		delete(c.states, id)
	}
}

// takeState takes over one record of the status topic. A letter whose state cannot be read waits for a person.
func (c *Counter) takeState(r *deadletters.StateRecord) {
	if r.ChainHead != nil {
		return
	}
	id := c.hash(r.ID)
	if r.Removed || r.Err != nil {
		delete(c.states, id)
		return
	}
	prev, replay := c.states[id], c.hash(r.State.ReplayID)
	if prev.last.Follow(r.State, prev.replay == replay) == deadletters.Applies {
		c.states[id] = state{replay: replay, last: deadletters.LastOf(r.State)}
	}
}

// count counts the letters that have a record in the DLQ.
func (c *Counter) count() Count {
	var n Count
	oldest := int64(0)
	for id, l := range c.letters {
		switch c.states[id].last.Status() { //nolint:exhaustive // the others wait for nobody
		case deadletters.Pending:
			n.Pending++
		case deadletters.Escalated:
			n.Escalated++
		case deadletters.Replaying:
			n.Replaying++
			continue
		default:
			continue
		}
		if oldest == 0 || l.died < oldest {
			oldest = l.died
		}
	}
	if oldest != 0 {
		n.Oldest = time.UnixMilli(oldest).UTC()
	}
	return n
}
