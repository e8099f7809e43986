package jobs

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S4-8: the counts of a replay whose process died add up, and those of earlier calls are not counted as its own.
func TestRegistry_S4_8_aKilledReplayCountsItsOwnDeadLetters(t *testing.T) {
	now := time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)
	r := &Registry{Now: func() time.Time { return now }, Life: time.Second}
	for name, c := range map[string]struct {
		again           bool
		counts          control.JobCounts
		all, duplicates int
		want            [3]int // done, duplicates, not reached
		state           control.JobState
	}{
		"before its first report":          {false, control.JobCounts{Letters: 10, NotReached: 10}, 4, 1, [3]int{3, 1, 6}, control.JobStopped},
		"after a report":                   {false, control.JobCounts{Letters: 10, NotReached: 7, Done: 3, Taken: 3}, 5, 0, [3]int{5, 0, 5}, control.JobStopped},
		"all taken":                        {false, control.JobCounts{Letters: 10, NotReached: 7, Done: 3, Taken: 3}, 10, 2, [3]int{8, 2, 0}, control.JobDone},
		"left some as they are":            {false, control.JobCounts{Letters: 10, NotReached: 2, Done: 5, Left: 3, Taken: 5}, 6, 0, [3]int{6, 0, 1}, control.JobStopped},
		"goes on, before its first report": {true, control.JobCounts{Letters: 10, NotReached: 10}, 20, 0, [3]int{0, 0, 10}, control.JobStopped},
		"goes on, and took nothing":        {true, control.JobCounts{Letters: 10, NotReached: 10, Taken: 20, Counted: true}, 20, 3, [3]int{0, 0, 10}, control.JobStopped},
		"goes on where none was taken":     {true, control.JobCounts{Letters: 10, NotReached: 10, Counted: true}, 10, 0, [3]int{10, 0, 0}, control.JobDone},
		"goes on, and took some":           {true, control.JobCounts{Letters: 10, NotReached: 8, Done: 2, Taken: 22, Counted: true}, 25, 3, [3]int{5, 0, 5}, control.JobStopped},
	} {
		j := control.Job{ID: "r1", Kind: control.JobReplay, State: control.JobRunning, Heard: now, Began: now, Again: c.again, JobCounts: c.counts}
		seen := r.Jobs(control.View{Jobs: map[string]control.Job{"r1": j}}, func(string) (all, duplicates int) { return c.all, c.duplicates })[0]
		expect.Equal(t, [3]int{seen.Done, seen.Duplicates, seen.NotReached}, c.want, name+": done, duplicates, not reached")
		expect.Equal(t, seen.State, c.state, name)
		expect.Equal(t, seen.Done+seen.Duplicates+seen.Left+seen.NotReached, seen.Letters, name+": the sum")
	}
}
