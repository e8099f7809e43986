package deadletters

import (
	"errors"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A gap that is wider than the limit is skipped by another fetch; a narrower one is read through.
func TestVisits_endAtAWideGap(t *testing.T) {
	const gap = 200
	at := func(partition int32, offset int64) *Letter {
		return &Letter{DLQ: header.Position{Partition: partition, Offset: offset}}
	}
	for name, c := range map[string]struct {
		next Place
		wide bool
	}{
		"the next record":       {Place{Offset: 2}, false},
		"as far as is allowed":  {Place{Offset: 1 + gap}, false},
		"one farther":           {Place{Offset: 2 + gap}, true},
		"in the next partition": {Place{Partition: 1}, true},
	} {
		rest, seen := []Place{{Offset: 1}, c.next}, 0
		v := &visits{gap: gap, fn: func(*Letter) error { seen++; return nil }, next: func() (p Place, err error, more bool) {
			if len(rest) > 0 {
				p, more, rest = rest[0], true, rest[1:]
			}
			return p, nil, more
		}}
		must.Do(t, v.advance())
		err := v.record(at(0, 1))
		expect.That(t, errors.Is(err, errWideGap) == c.wide && seen == 1, "%s: %v after %d", name, err, seen)
	}
}

func TestPlace_Compare(t *testing.T) {
	want := []Place{{0, 5}, {1, 2}, {1, 3}, {2, 0}}
	got := []Place{want[2], want[0], want[3], want[1]}
	slices.SortFunc(got, Place.Compare)
	expect.That(t, slices.Equal(got, want), "%v", got)
}
