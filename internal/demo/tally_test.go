package demo

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// books are topics written by hand, so that every way in which they can be wrong is seen once.
type books struct {
	t     *testing.T
	tally *tally
	next  int64
}

func newBooks(t *testing.T) *books { return &books{t: t, tally: newTally()} }

func (b *books) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *books) record(topic string, c header.Control) *kgo.Record {
	b.next++
	return &kgo.Record{
		Topic: topic, Offset: b.next, Key: []byte("k"), Headers: c.AppendTo(nil),
		Value: []byte(`{"type":"Feature","properties":{"a":1},"geometry":{"type":"Point","coordinates":[1,2]}}`),
	}
}

// input is a committed source record.
func (b *books) input() header.Position { return b.inputAs(header.Control{}, false) }

func (b *books) inputAs(c header.Control, open bool) header.Position {
	r := b.record("features", c)
	b.must(b.tally.source(r, open))
	return position(r)
}

func from(p header.Position) header.Control {
	return header.Control{Source: p, HasSource: true}
}

func (b *books) output(c header.Control) { b.must(b.tally.delivered(b.record("features.out", c))) }
func (b *books) letter(p header.Position) {
	c := from(p)
	c.ErrorCode = "geometry_invalid"
	b.must(b.tally.dead(b.record("features.dlq", c)))
}

func (b *books) audited(p header.Position, d audit.Decision) {
	r, err := audit.Event{Time: time.Unix(0, 0), Pipeline: "demo", Source: p.String(), Decision: d}.Record("features.audit", 0)
	b.must(err)
	b.must(b.tally.closed(r))
}

func TestTally(t *testing.T) {
	replayOf := func(p header.Position) header.Control {
		c := from(p)
		c.ReplayID = "replay-1"
		return c
	}
	for name, c := range map[string]struct {
		write func(*books)
		want  Balance
		holds bool
	}{
		"nothing at all": {func(*books) {}, Balance{}, true},
		"one in every place": {func(b *books) {
			b.output(from(b.input()))
			b.letter(b.input())
			b.audited(b.input(), audit.Duplicate)
			b.audited(b.input(), audit.Superseded)
			b.audited(b.input(), audit.Filtered)
			b.audited(b.input(), audit.Skipped)
		}, Balance{Consumed: 6, Delivered: 1, DeadLettered: 1, Duplicates: 1, Superseded: 1, Filtered: 2}, true},
		"other decisions close nothing": {func(b *books) {
			p := b.input()
			b.audited(p, audit.Retried)
			b.audited(p, audit.Delivered)
			b.output(from(p))
		}, Balance{Consumed: 1, Delivered: 1}, true},
		"a dead letter replayed and delivered": {func(b *books) {
			p := b.input()
			b.inputAs(replayOf(p), false)
			b.letter(p)
			b.output(from(p))
		}, Balance{Consumed: 2, Delivered: 1, DeadLettered: 1}, true},
		"an output that names the replay's own position": {func(b *books) {
			p := b.input()
			again := b.inputAs(replayOf(p), false)
			b.letter(p)
			b.output(from(again))
		}, Balance{Consumed: 2, Delivered: 1, DeadLettered: 1}, true},
		"waiting in a tier": {func(b *books) {
			b.must(b.tally.waiting(b.record("features.retry-2s", from(b.input()))))
		}, Balance{Consumed: 1, Waiting: 1}, false},
		"not read yet": {func(b *books) { b.inputAs(header.Control{}, true) }, Balance{Consumed: 1, Waiting: 1}, false},
		"lost":         {func(b *books) { b.input() }, Balance{Consumed: 1, Lost: 1}, false},
		"doubled": {func(b *books) {
			p := b.input()
			b.output(from(p))
			b.output(from(p))
		}, Balance{Consumed: 1, Delivered: 2, Doubled: 1}, false},
		"one lost and one doubled do not cancel out": {func(b *books) {
			b.input()
			p := b.input()
			b.output(from(p))
			b.letter(p)
		}, Balance{Consumed: 2, Delivered: 1, DeadLettered: 1, Lost: 1, Doubled: 1}, false},
		"an output from nowhere": {func(b *books) {
			b.output(from(header.Position{Topic: "features", Offset: 99}))
		}, Balance{Delivered: 1, Doubled: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBooks(t)
			c.write(b)
			b.tally.close()
			if b.tally.balance != c.want || b.tally.balance.Holds() != c.holds {
				t.Errorf("%+v, holds %v; want %+v, %v", b.tally.balance, b.tally.balance.Holds(), c.want, c.holds)
			}
		})
	}
}
