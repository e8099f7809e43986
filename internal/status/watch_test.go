package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func shards(pairs ...int64) (r status.Report) {
	for i := 0; i < len(pairs); i += 2 {
		s := status.Shard{Partition: int32(i / 2), Committed: pairs[i], End: pairs[i+1], Lag: pairs[i+1] - max(pairs[i], 0)}
		r.Shards, r.Lag = append(r.Shards, s), r.Lag+s.Lag
	}
	return r
}

func TestSince_S2_7_countsWhatMoved(t *testing.T) {
	for name, c := range map[string]struct {
		before, now status.Report
		in, done    float64
		left        float64 // 0: none
	}{
		"catching up":      {shards(0, 100), shards(50, 110), 1, 5, 15},
		"falling behind":   {shards(0, 100), shards(10, 200), 10, 1, 0},
		"standing still":   {shards(10, 100), shards(10, 100), 0, 0, 0},
		"no lag":           {shards(90, 100), shards(100, 100), 0, 1, 0},
		"first commit":     {shards(-1, 100), shards(40, 100), 0, 4, 15},
		"re-created topic": {shards(500, 500), shards(0, 10), 0, 0, 0},
		"more partitions":  {shards(0, 10), shards(10, 10, 0, 50), 0, 1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.now.Since(c.before, 10*time.Second)
			left := 0.0
			if got.Left != nil {
				left = *got.Left
			}
			expect.That(t, got.In == c.in && got.Done == c.done && left == c.left,
				"%v in, %v done, %v left; want %v, %v, %v", got.In, got.Done, left, c.in, c.done, c.left)
		})
	}
	if got := shards(5, 5).Since(shards(0, 5), 0); got != (status.Rates{}) {
		t.Errorf("within no time: %+v", got)
	}
}

// S2-7: a broker that is away is shown with the age of what is known, and does not end a watch; the first look does.
func TestWatch_S2_7_goesOnWithoutBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("no broker answers")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		gather := func(context.Context) (status.Report, error) {
			if n++; n == 2 {
				return status.Report{}, away
			}
			return shards(int64(10*n), 100), nil
		}
		var seen []status.Seen
		var troubles []error
		err := status.Watch(ctx, 2*time.Second, gather, func(s status.Seen, trouble error) error {
			seen, troubles = append(seen, s), append(troubles, trouble)
			if len(seen) == 3 {
				cancel()
			}
			return nil
		})
		must.That(t, err == nil && len(seen) == 3 && errors.Is(troubles[1], away) && troubles[2] == nil, "%v, %d reports, troubles %v", err, len(seen), troubles)
		expect.That(t, seen[1].At == seen[0].At && seen[1].Lag == 90, "without brokers: %+v, want the former report", seen[1])
		if seen[2].Rates == nil || seen[2].Rates.Done != 5 { // 20 in 4 s
			t.Errorf("rates %+v, want 5 a second over the gap", seen[2].Rates)
		}
		err = status.Watch(t.Context(), time.Second, func(context.Context) (status.Report, error) { return status.Report{}, away }, nil)
		expect.That(t, errors.Is(err, away), "a first look without brokers: %v", err)
	})
}

// Whatever a reason holds, a screen has no more lines and columns than the terminal, and nothing in it moves the cursor.
func TestScreen_S2_7_fitsTheTerminal(t *testing.T) {
	report := shards(make([]int64, 2*60)...)
	report.State.Reason = "\x1b[2J\u202e" + strings.Repeat("wide ", 100)
	s := status.Seen{At: time.Unix(0, 0), Report: report, Rates: &status.Rates{In: 1, Done: 2}}
	for _, size := range [][2]int{{80, 24}, {200, 60}, {20, 3}, {1, 1}} {
		lines := s.Screen(time.Unix(9, 0), errors.New("no broker answers"), size[0], size[1])
		expect.That(t, len(lines) <= max(size[1]-1, 1) || size[1] <= 1, "%v: %d lines", size, len(lines))
		for _, line := range lines {
			n := len([]rune(line))
			expect.That(t, (n <= size[0] || size[0] <= 1) && !strings.ContainsAny(line, "\x1b\u202e\n"), "%v: %q", size, line)
		}
	}
	text := strings.Join(s.Screen(time.Unix(9, 0), errors.New("no broker answers"), 200, 100), "\n")
	for _, says := range []string{"1.0/s in, 2.0/s committed", "NOT NEW, of 9s ago: no broker answers", "no instance is running"} {
		expect.That(t, strings.Contains(text, says), "it does not say %q:\n%s", says, text)
	}
}
