package deadletters

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// Count is the number of dead letters that wait for a person, by status.
type Count struct {
	Pending   int       // no operator has decided about them
	Escalated int       // marked for a decision by a person
	Replaying int       // put back, not yet finished by the consumer
	Oldest    time.Time // when the oldest of the pending and escalated ones first died; zero without any
}

// Waiting returns the number of dead letters that wait for a person.
func (c Count) Waiting() int { return c.Pending + c.Escalated }

// Counter counts the dead letters of one DLQ from the DLQ and the status topic alone, so the consumer and its status
// command can show the number without the replayer's index. The first count reads both topics; each later one reads
// the new records. A dead letter takes about 100 bytes of memory. A Counter is for one goroutine.
type Counter struct {
	client      *kgo.Client
	dlq, status string
	seed        maphash.Seed
	letters     map[uint64]waitingLetter
	states      map[uint64]waitingState
	next        map[string]map[int32]int64 // by topic and partition: the offset after the last record that was read
}

// waitingLetter describes the records of a dead letter in the DLQ.
type waitingLetter struct {
	died      int64 // when it first died, Unix milliseconds
	offset    int64 // of its last record
	partition int32
}

// waitingState is the last state of a dead letter.
type waitingState struct {
	replay uint64 // hash of the replay's ID
	last   Last
}

// NewCounter prepares a counter of a DLQ and its status topic. The client must accept answers of kafka.MaxAnswer bytes.
func NewCounter(client *kgo.Client, dlq, status string) *Counter {
	c := &Counter{client: client, dlq: dlq, status: status, seed: maphash.MakeSeed()}
	c.reset()
	return c
}

func (c *Counter) reset() {
	c.letters, c.states = map[uint64]waitingLetter{}, map[uint64]waitingState{}
	c.next = map[string]map[int32]int64{c.dlq: {}, c.status: {}}
}

// Read reads the new records of both topics and returns the count. After an error, the next call continues.
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
	err = ScanStates(ctx, kafka.Cluster{Client: c.client}, c.status, states, func(r *StateRecord) error {
		c.takeState(r)
		c.next[c.status][r.At.Partition] = r.At.Offset + 1
		return nil
	})
	if err != nil {
		return Count{}, err
	}
	reading := Reading{NoContent: true}
	err = reading.Letters(ctx, c.client, c.dlq, letters, func(l *Letter) error {
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

// spans returns the unread spans of a topic and the start of each partition. unread is nil if the topic ends before the last read offset.
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

// takeLetter applies one record of the DLQ. A record of other software that failed again in its replay is pending again.
func (c *Counter) takeLetter(l *Letter) {
	id := c.hash(l.ID)
	died := l.At.UnixMilli()
	if known, again := c.letters[id]; again {
		died = min(died, known.died)
	}
	c.letters[id] = waitingLetter{died: died, offset: l.DLQ.Offset, partition: l.DLQ.Partition}
	if ReportsOutcome(l) && c.states[id].replay == c.hash(l.Control.ReplayID) {
		delete(c.states, id)
	}
}

// takeState applies one record of the status topic. A dead letter whose state cannot be read waits for a person.
func (c *Counter) takeState(r *StateRecord) {
	if r.ChainHead != nil {
		return
	}
	id := c.hash(r.ID)
	if r.Removed || r.Err != nil {
		delete(c.states, id)
		return
	}
	prev, replay := c.states[id], c.hash(r.State.ReplayID)
	if prev.last.Follow(r.State, prev.replay == replay) == Applies {
		c.states[id] = waitingState{replay: replay, last: LastOf(r.State)}
	}
}

// count counts the dead letters that have a record in the DLQ.
func (c *Counter) count() Count {
	var n Count
	oldest := int64(0)
	for id, l := range c.letters {
		switch c.states[id].last.Status() { //nolint:exhaustive // no person has to decide about the others
		case Pending:
			n.Pending++
		case Escalated:
			n.Escalated++
		case Replaying:
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
