package retrytopics

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// S4-10: a gap is what lies between the position and the start of the log, without what a former owner has finished there. It is
// found once, by a fetch or by a look, and counts when the position has passed over it.
func TestLoss_S4_10_isWhatTheLogLacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		committed int64
		restored  []offsets.Span
		began     int64 // where the log started at the first look; -1: not looked yet
		taken     []int64
		start     int64
		lost      []Loss
		next      int64
		passed    bool
	}{
		{"no gap", 10, nil, -1, nil, 10, nil, 10, false},
		{"a log that starts before the position", 10, nil, -1, nil, 4, nil, 10, false},
		{"a gap", 10, nil, -1, nil, 13, []Loss{{"t", 0, 10, 13, 3}}, 13, true},
		{"a gap with finished records", 10, []offsets.Span{{First: 11, Last: 11}, {First: 20, Last: 22}}, -1, nil, 21, []Loss{{"t", 0, 10, 21, 9}}, 21, true},
		{"only finished records are gone", 10, []offsets.Span{{First: 10, Last: 12}}, -1, nil, 13, nil, 13, false},
		{"behind taken records", 10, nil, -1, []int64{10, 11}, 15, []Loss{{"t", 0, 12, 15, 3}}, 10, false},
		{"no commit and a start that is not 0", -1, nil, -1, nil, 7, nil, -1, false},
		{"no commit, deleted since", -1, nil, 2, nil, 7, []Loss{{"t", 0, 2, 7, 5}}, 7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Engine{cfg: Config{Source: "t"}.withDefaults()}
			s := e.unconnected(t.Context(), defaultMaxMetadata)
			l, err := newPartition(t.Context(), topicPartition{"t", 0}, sourceTier, newPartitionState(0, Dedupe{}), offsets.Commit{Offset: c.committed, Metadata: offsets.EncodeFinished(max(c.committed, 0), c.restored)})
			must.That(t, err == nil, "%v", err)
			s.partitions[l.topicPartition] = l
			for _, at := range c.taken {
				l.window.Add(at)
			}
			l.began = c.began
			l.starts(c.start)
			s.skipGaps()
			expect.That(t, !s.skipGaps(), "the gap is found again")
			s.arrive(l, &kgo.FetchPartition{LogStartOffset: c.start, Records: []*kgo.Record{{Offset: c.start}}})
			expect.That(t, slices.Equal(s.losses, c.lost) && l.window.Next() == c.next, "losses %v at %d, want %v at %d", s.losses, l.window.Next(), c.lost, c.next)
			passed := s.passed()
			expect.That(t, (len(passed) > 0) == c.passed, "passed over %v", passed)
		})
	}
}

// S4-10: the fetch that crosses a gap tells of it, even when nobody has looked.
func TestLoss_S4_10_isSeenByTheFetch(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{Source: "t"}.withDefaults()}
	s := e.unconnected(t.Context(), defaultMaxMetadata)
	l := must.Get(newPartition(t.Context(), topicPartition{"t", 0}, sourceTier, newPartitionState(0, Dedupe{}), offsets.Commit{Offset: 5}))(t)
	for _, f := range []struct{ start, first int64 }{
		{0, 6},   // an offset without a record is no gap
		{9, 8},   // the start has moved on since the records were read
		{12, 30}, // nor are offsets without records behind the start
	} {
		s.arrive(l, &kgo.FetchPartition{LogStartOffset: f.start, Records: []*kgo.Record{{Offset: f.first}}})
		l.window.Add(f.first)
	}
	want := []Loss{{"t", 0, 7, 8, 1}, {"t", 0, 9, 12, 3}}
	expect.That(t, slices.Equal(s.losses, want), "got %v, want %v", s.losses, want)
}
