package dlqindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// maxFaults is how many faults of one kind a check names; the rest is counted.
const maxFaults = 10

// Checked is the result of a check.
type Checked struct {
	Letters int      `json:"dead_letters"` // compared
	Total   int      `json:"faults"`
	Faults  []string `json:"found"` // at most maxFaults of a kind; none means that index and topics agree
}

// Check reads both topics again, up to where the index has read them, and compares every letter that they have with its
// row: the record and the state. It also compares the counters with a recount. It changes nothing.
func (x *Index) Check(ctx context.Context) (Checked, error) {
	c := &checker{syncer: syncer{Index: x}, want: map[uint64]digest{}, reports: map[uint64]*deadletters.Letter{}, digests: digests{seed: maphash.MakeSeed()}, kinds: map[string]int{}, found: Checked{Faults: []string{}}}
	if err := c.look(ctx); err != nil {
		return Checked{}, err
	}
	d, err := x.DLQ(ctx)
	if err != nil {
		return Checked{}, err
	}
	c.dlq = d.number
	if err = c.readTopics(ctx); err == nil {
		err = x.reading(ctx, c.compare)
	}
	if err != nil {
		return Checked{}, damage(x.place, wrapped("check the index of "+x.source.DLQ, err))
	}
	return c.found, nil
}

type checker struct {
	syncer
	digests
	want    map[uint64]digest              // by the digest of the letter's id
	reports map[uint64]*deadletters.Letter // letters whose record reports that a replay failed in other software
	kinds   map[string]int
	found   Checked
}

func (c *checker) fault(kind, format string, args ...any) {
	c.found.Total++
	if c.kinds[kind]++; c.kinds[kind] <= maxFaults {
		c.found.Faults = append(c.found.Faults, kind+": "+fmt.Sprintf(format, args...))
	}
}

// readTopics makes the digests.
func (c *checker) readTopics(ctx context.Context) error {
	var positions map[partition]position
	err := c.reading(ctx, func(t *tx) (err error) {
		positions, err = t.positions(c.dlq)
		return err
	})
	if err != nil {
		return err
	}
	cut := func(topic string, spans map[int32]kafka.Span) map[int32]kafka.Span {
		out := map[int32]kafka.Span{}
		for p, span := range spans {
			out[p] = kafka.Span{Start: span.Start, End: min(span.End, positions[partition{topic, p}].next)}
		}
		return out
	}
	err = c.source.Letters(ctx, c.client, c.source.DLQ, cut(c.source.DLQ, c.facts.letters), func(l *deadletters.Letter) error {
		id := c.text(plain(l.ID))
		want, known := c.want[id]
		if !known {
			want.state, want.first = c.state(deadletters.State{Status: deadletters.Pending}), l.At.UnixMilli()
		}
		want.first = min(want.first, l.At.UnixMilli())
		raw, _ := rawRecordOf(l)
		want.letter, want.partition, want.offset = c.letter(l, raw), l.DLQ.Partition, l.DLQ.Offset
		want.deaths = int16(min(int(want.deaths)+l.Deaths, math.MaxInt16)) // an edit is none
		c.want[id] = want
		if delete(c.reports, id); deadletters.ReportsOutcome(l) {
			kept := *l
			kept.Content = nil
			c.reports[id] = &kept
		}
		return nil
	})
	if err != nil || c.source.Status == "" {
		return err
	}
	return deadletters.ScanStates(ctx, c.source.states(c.client), c.source.Status, cut(c.source.Status, c.facts.states), func(r *deadletters.StateRecord) error {
		change := readChange(r)
		id := c.text(change.id)
		if want, known := c.want[id]; known {
			switch {
			case change.removed, change.problem != "":
				want.last = deadletters.Last{}
			case !want.follows(&change.state, uint32(c.text(change.state.ReplayID))):
				return nil
			}
			if change.removed {
				change.state = deadletters.State{Status: deadletters.Pending}
			} else if l := c.reports[id]; l != nil && change.problem == "" {
				change.state = deadletters.ExternalOutcome(l, change.state, c.source.maxReplays())
			}
			want.state = c.state(change.state)
			c.want[id] = want
		}
		return nil
	})
}

// compare goes through the rows, and compares the counters with a recount. SQLite compares its indexes with the rows.
func (c *checker) compare(t *tx) error {
	if t.engine == SQLite {
		var result string
		if err := t.row("PRAGMA integrity_check(1)").Scan(&result); err != nil {
			return err
		}
		if result != "ok" {
			return &DamagedError{Err: errors.New(result)}
		}
	}
	cols, recount := readColumns(), newTally()
	err := t.found("SELECT "+names(cols)+", raw_record FROM @dead_letter_queue WHERE dlq = ?", func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(append(r.targets(cols), &r.raw)...); err != nil {
			return err
		}
		recount.add(&r, 1)
		if l := r.finish(c.source.DLQ); !r.gone {
			c.compareOne(&l, r.raw)
		}
		return nil
	}, c.dlq)
	if err != nil {
		return err
	}
	c.missing()
	have, err := t.counters(c.dlq)
	if err != nil {
		return err
	}
	recount.trim()
	differences(c, "letters per group and status", have.counts, recount.counts)
	differences(c, "pending letters per day", have.days, recount.days)
	differences(c, "letters per cell of a map", have.cells, recount.cells)
	return nil
}

// differences reports each counter that differs from a recount.
func differences[K, V comparable](c *checker, what string, have, want map[K]V) {
	for key, n := range want {
		if have[key] != n {
			c.fault("count", "%s of %+v are %+v, and a recount gives %+v", what, key, have[key], n)
		}
	}
	for key, n := range have {
		if _, counted := want[key]; !counted {
			c.fault("count", "%s of %+v are %+v, and there are none", what, key, n)
		}
	}
}

// missing names the letters that no row was compared with, in the order of the topic.
func (c *checker) missing() {
	var places []header.Position
	for _, want := range c.want {
		if !want.row {
			places = append(places, header.Position{Topic: c.source.DLQ, Partition: want.partition, Offset: want.offset})
		}
	}
	slices.SortFunc(places, func(a, b header.Position) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	for _, place := range places {
		c.fault("missing", "the dead letter at %s is in the topic and not in the index", place)
	}
}

func (c *checker) compareOne(l *deadletters.Letter, raw string) {
	c.found.Letters++
	id := c.text(l.ID)
	want, known := c.want[id]
	if !known {
		c.fault("surplus", "dead letter %s at %s is in the index and not in the topic", l.ID, l.DLQ)
		return
	}
	want.row = true
	c.want[id] = want
	state := l.State
	if l.Status == "" {
		state.Status = unreadable
	}
	switch {
	case want.letter != c.letter(l, raw) || l.Deaths < int(want.deaths) || l.FirstAt.UnixMilli() > want.first:
		c.fault("differs", "dead letter %s at %s is not what the topic has", l.ID, l.DLQ)
	case want.state != c.state(state):
		c.fault("state", "dead letter %s is %s in the index, which is not what the status topic has", l.ID, state.Status)
	}
}

// digest is what a row must have, in few bytes, because a million digests are in memory. They are compared within one
// process, and nobody forges them: 32 bits overlook one change in four billion.
type digest struct {
	letter, state uint32
	offset        int64 // where the record lies that counts
	first         int64 // when the letter first died, in milliseconds since 1970
	partition     int32
	deaths        int16
	row           bool // a row of the table was compared with it
	last          deadletters.Last
	replay        uint32 // of the last replay's id
}

// follows reports whether a state replaces the last one, and stores it then.
func (d *digest) follows(s *deadletters.State, replay uint32) bool {
	if d.last.Follow(*s, d.replay == replay) != deadletters.Applies {
		return false
	}
	d.last, d.replay = deadletters.LastOf(*s), replay
	return true
}

// digests computes digests.
type digests struct {
	seed maphash.Seed
	buf  []byte
}

func (d *digests) text(parts ...string) uint64 {
	d.buf = d.buf[:0]
	d.add(parts...)
	return d.sum()
}

// letter returns the digest of what the table has of a record.
func (d *digests) letter(l *deadletters.Letter, raw string) uint32 {
	c := &l.Control
	source := header.Position{Topic: c.Source.Topic}
	if c.HasSource {
		source = c.Source
	}
	d.buf = d.buf[:0]
	d.add(raw, string(l.Dialect), string(l.Key), l.Group, l.ContentHash, l.CauseClass, l.CausedBy, c.ErrorMessage, c.ErrorCode, c.ErrorClass, c.ErrorStage,
		c.FeatureID, c.Pipeline, c.RunID, c.BBox, source.Topic, l.EditOf.Topic, requestText(c.ErrorRequest), responseText(c.ErrorResponse), pointerText(l.Pointer), l.TooLarge)
	for _, n := range []int64{
		int64(l.DLQ.Partition), l.DLQ.Offset, l.At.UnixMilli(), int64(l.Size), int64(source.Partition), source.Offset, c.SourceTimestamp.UnixMilli(),
		int64(c.Attempt), int64(c.MaxAttempts), int64(c.ReplayCount), int64(l.EditOf.Partition), l.EditOf.Offset, l.Last,
	} {
		d.buf = append(strconv.AppendInt(d.buf, n, 36), 0)
	}
	return uint32(d.sum())
}

func (d *digests) state(s deadletters.State) uint32 {
	d.buf = d.buf[:0]
	d.add(string(s.Status), s.Reason, s.ReplayID, s.By, s.Destination)
	d.buf = strconv.AppendInt(append(strconv.AppendInt(d.buf, int64(s.ReprocessCount), 36), 0), s.At.UnixMilli(), 36)
	return uint32(d.sum())
}

func (d *digests) add(parts ...string) {
	for _, part := range parts {
		d.buf = append(append(d.buf, plain(part)...), 0)
	}
}

func (d *digests) sum() uint64 { return maphash.Bytes(d.seed, d.buf) }
