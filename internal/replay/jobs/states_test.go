package jobs

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// C-4: one replayer at a time is at work. A step is the lease that the replayer reads at a time, and its decision.
func TestLeaseState_C4_waitsTakesOrRefuses(t *testing.T) {
	t.Parallel()
	const life = 10 * time.Second
	type step struct {
		token    string // "" is no lease
		renewed  int    // number of renewals so far
		released bool
		at       time.Duration
		do       string // before the look: "sign" or "restart"
		want     leaseVerdict
	}
	for name, c := range map[string]struct {
		takeOver bool
		wait     time.Duration
		steps    []step
	}{
		"no lease":                              {steps: []step{{want: leaseTake}}},
		"the last one was given back":           {steps: []step{{token: "b", released: true, want: leaseTake}}},
		"its own, written after its call ended": {steps: []step{{token: "a", want: leaseTake}}},
		"another replayer is alive": {steps: []step{
			{token: "b", want: leaseWait}, {token: "b", at: time.Second, want: leaseWait}, {token: "b", renewed: 1, at: 2 * time.Second, want: leaseRefuse},
		}},
		"it is waited for, and gives the lease back": {wait: time.Minute, steps: []step{
			{token: "b", want: leaseWait}, {token: "b", renewed: 1, at: 2 * time.Second, want: leaseWait},
			{token: "b", renewed: 2, at: 59 * time.Second, want: leaseWait}, {token: "b", renewed: 2, released: true, at: 60 * time.Second, want: leaseTake},
		}},
		"it is waited for, in vain": {wait: time.Minute, steps: []step{
			{token: "b", want: leaseWait}, {token: "b", renewed: 1, at: 59 * time.Second, want: leaseWait}, {token: "b", renewed: 2, at: 60 * time.Second, want: leaseRefuse},
		}},
		"a dead one's is nobody's": {steps: []step{
			{token: "b", want: leaseWait}, {token: "b", at: life, want: leaseWait}, {token: "b", at: life + 1, want: leaseTake},
		}},
		"one that dies while it is waited for": {wait: time.Minute, steps: []step{
			{token: "b", want: leaseWait}, {token: "b", renewed: 1, at: 5 * time.Second, want: leaseWait},
			{token: "b", renewed: 1, at: 5*time.Second + life, want: leaseWait}, {token: "b", renewed: 1, at: 5*time.Second + life + 1, want: leaseTake},
		}},
		"a third one comes, and is watched anew": {steps: []step{
			{token: "b", want: leaseWait}, {token: "c", at: life + 1, want: leaseWait}, {token: "c", renewed: 1, at: life + 2, want: leaseRefuse},
		}},
		"on purpose":                                 {takeOver: true, steps: []step{{token: "b", renewed: 1, want: leaseTake}, {token: "b", renewed: 2, want: leaseTake}}},
		"on purpose, of another one than it saw":     {takeOver: true, steps: []step{{token: "b", want: leaseTake}, {token: "c", want: leaseRefuse}}},
		"one signs between the look and the fence":   {steps: []step{{want: leaseTake}, {token: "b", want: leaseRefuse}}},
		"one came and went between look and fence":   {steps: []step{{want: leaseTake}, {token: "b", released: true, want: leaseTake}}},
		"still the dead one's after the fence":       {steps: []step{{token: "b", want: leaseWait}, {token: "b", at: life + 1, want: leaseTake}, {token: "b", at: life + 2, want: leaseTake}}},
		"a signature that failed is asked for again": {steps: []step{{want: leaseTake}, {do: "restart", token: "b", at: time.Second, want: leaseWait}}},
		"its own in the next session":                {steps: []step{{want: leaseTake}, {do: "sign", token: "a", want: leaseTake}, {do: "restart", token: "a", want: leaseTake}}},
		"its own is gone with the topic":             {steps: []step{{want: leaseTake}, {do: "sign", want: leaseTake}}},
		"another one took it and works":              {steps: []step{{want: leaseTake}, {do: "sign", token: "a", want: leaseTake}, {do: "restart", token: "b", want: leaseRefuse}}},
		"another one took it and has ended":          {steps: []step{{want: leaseTake}, {do: "sign", token: "a", want: leaseTake}, {do: "restart", token: "b", released: true, want: leaseRefuse}}},
		"who took over is taken over from":           {takeOver: true, steps: []step{{token: "b", want: leaseTake}, {do: "sign", token: "a", want: leaseTake}, {do: "restart", token: "c", want: leaseRefuse}}},
	} {
		began := noon.Add(time.Hour) // by this machine's clock; the others' are what they are
		s := leaseState{token: "a", life: life, takeOver: c.takeOver, wait: c.wait, began: began}
		for i, step := range c.steps {
			switch step.do {
			case "sign":
				s.signed()
			case "restart":
				s.restart()
			}
			var l *control.Lease
			if step.token != "" {
				l = &control.Lease{Token: step.token, Renewed: noon.Add(time.Duration(step.renewed) * time.Second), Released: step.released}
			}
			expect.Equal(t, s.observe(l, began.Add(step.at)), step.want, name, "step", i)
		}
	}
}

// The state that an observer sees follows from the record, the latest order, whether the process read that order, and
// whether the process is running.
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
				expect.Equal(t, jobStateSeen(recorded, order, heard, alive), want, "recorded", recorded, "order", order, "heard", heard, "alive", alive)
			}
		}
	}
}

func TestJobState_S4_6_whatCanBeOrdered(t *testing.T) {
	t.Parallel()
	const give, given, refuse = orderGive, orderGiven, orderRefuse
	want := map[control.JobState][3]orderVerdict{ // pause, resume, cancel
		control.JobRunning: {give, given, give}, control.JobPausing: {given, give, give}, control.JobPaused: {given, give, give},
		control.JobCancelling: {refuse, refuse, given},
	}
	for _, ended := range []control.JobState{control.JobStopped, control.JobCancelled, control.JobDone, control.JobFailedAgain, control.JobFailed} {
		want[ended] = [3]orderVerdict{refuse, refuse, refuse}
	}
	for _, state := range control.JobStates() {
		for i, verb := range control.JobVerbs() {
			expect.Equal(t, judgeOrder(state, verb), want[state][i], verb, "a job that is", state)
		}
	}
}

var noon = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
