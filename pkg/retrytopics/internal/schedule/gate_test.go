package schedule

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Restored runs whose records were removed by compaction or retention make room at once: blocked records start before
// records that come later.
func TestGate_letsNoRecordOvertake(t *testing.T) {
	t.Parallel()
	c := roomy()
	c.Unfinished = 4
	s := scheduling(t, c)
	p := partitionOf(t, Source)
	at := func(index, restored int64) Record {
		r := keyed(p, index, "k").queued()
		r.Restored = restored
		return r
	}
	s.Add([]Record{at(0, 3), at(1, 3), at(2, 3)})
	s.Add([]Record{at(3, 0)})
	for want := range int64(4) {
		must.That(t, s.source.len() != 0, "offset %d is not runnable", want)
		got := s.Next()
		must.That(t, got.Offset == want, "offset %d ran, want %d: both have one key", got.Offset, want)
		s.Finish(got)
	}
}
