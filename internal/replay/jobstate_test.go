package replay

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/switchback-geo/switchback/internal/control"
)

// What everybody sees of a job follows from its record, the latest order for it, whether its process heard that, and whether it is alive.
func TestJobState_S4_6_asOthersSeeIt(t *testing.T) {
	t.Parallel()
	for _, recorded := range control.JobStates() {
		for _, order := range append(control.JobVerbs(), "") {
			for _, also := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
				alive, heard := also[0], also[1]
				want := map[control.JobVerb]control.JobState{
					"": control.JobRunning, control.ResumeJob: control.JobRunning, control.PauseJob: control.JobPausing, control.CancelJob: control.JobCancelling,
				}[order]
				switch {
				case recorded.Ended():
					want = recorded
				case !alive:
					want = control.JobStopped
				case order == control.PauseJob && heard && recorded == control.JobPaused:
					want = control.JobPaused
				}
				if got := jobStateSeen(recorded, order, heard, alive); got != want {
					t.Errorf("recorded %s, order %q, heard %v, alive %v: %s, want %s", recorded, order, heard, alive, got, want)
				}
			}
		}
	}
}

func TestJobState_S4_6_atTheEnd(t *testing.T) {
	t.Parallel()
	cancelled := fmt.Errorf("x: %w", &CancelledError{})
	for _, c := range []struct {
		name       string
		err        error
		notReached int
		want       control.JobState
	}{
		{"all reached", nil, 0, control.JobDone},
		{"the gate refuses what was sent last", &StopError{}, 0, control.JobDone},
		{"the gate", fmt.Errorf("x: %w", &StopError{}), 1, control.JobStopped},
		{"a signal", fmt.Errorf("x: %w", context.Canceled), 1, control.JobStopped},
		{"an operator", cancelled, 1, control.JobCancelled},
		{"an operator, while the consumer is awaited", cancelled, 0, control.JobCancelled},
		{"another replayer", ErrFenced, 1, control.JobFailed},
		{"an error", errors.New("denied"), 1, control.JobFailed},
	} {
		if got := jobStateEnded(c.err, c.notReached); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestJobState_S4_6_whatCanBeOrdered(t *testing.T) {
	t.Parallel()
	const give, given, refuse = orderGive, orderGiven, orderRefuse
	want := map[control.JobState][3]orderVerdict{ // pause, resume, cancel
		control.JobRunning:    {give, given, give},
		control.JobPausing:    {given, give, give},
		control.JobPaused:     {given, give, give},
		control.JobCancelling: {refuse, refuse, given},
		control.JobStopped:    {refuse, refuse, refuse},
		control.JobCancelled:  {refuse, refuse, refuse},
		control.JobDone:       {refuse, refuse, refuse},
		control.JobFailed:     {refuse, refuse, refuse},
	}
	for _, state := range control.JobStates() {
		for i, verb := range control.JobVerbs() {
			if got := judgeOrder(state, verb); got != want[state][i] {
				t.Errorf("%s a job that is %s: %d, want %d", verb, state, got, want[state][i])
			}
		}
	}
}
