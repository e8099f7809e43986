package partition

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// The time of the first unfinished record is known to within stampEvery, without a stamp for every record.
func TestPartition_knowsHowOldItsFirstUnfinishedRecordIs(t *testing.T) {
	t.Parallel()
	l := must.Get(New(ID{"t", 0}, schedule.Source, NewState(new(instance.Instance), 0), offsets.Commit{Offset: 0}))(t)
	begin := time.Unix(1_800_000_000, 0)
	at := func(offset int64) time.Time {
		switch {
		case offset < 500:
			return begin.Add(time.Duration(offset) * time.Millisecond)
		case offset < 600:
			return begin.Add(time.Duration(offset%2) * time.Hour) // two producers, one with a clock that is ahead
		}
		return begin.Add(time.Duration(offset) * time.Second)
	}
	const records = 700
	for o := range int64(records) {
		l.Window.Add(o)
		l.Stamp(&kgo.Record{Offset: o, Timestamp: at(o)})
	}
	n := len(l.Stamps)
	expect.That(t, n <= 260, "%d stamps", n)
	for o := range int64(records) {
		late := at(o).Sub(l.Oldest())
		must.That(t, late >= 0 && late < stampEvery, "at offset %d the time is %v off", o, late)
		l.Window.Finish(o)
	}
}
