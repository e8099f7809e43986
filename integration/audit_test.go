package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// S0-11, S0-7, S1-7: every decision about a record is one audit event and one
// structured log line, in the order in which they were made.
func TestDecisionsAreTold_S0_11_S0_7_S1_7(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.MaxAttempts = 3 }).ensure()
	p.places.Script("once", misbehave.Status(503))
	p.places.Script("gone", misbehave.Status(404))
	p.places.Script("down", misbehave.Times(9, misbehave.Status(503))...)
	want := map[string][]string{
		"well": {"delivered handled"},
		"once": {"retried transient_failure", "delivered handled"},
		"gone": {"dead_lettered row_failure"},
		"down": {"retried transient_failure", "retried transient_failure", "dead_lettered retries_exhausted"},
	}
	positions := map[string]string{}
	for id := range want {
		positions[topiclog.Position(p.send(id)[0])] = id
	}
	consumer := p.start("it", "--until-end")
	if r := consumer.Wait(p.ctx, t); r.Code != 0 {
		t.Fatalf("consumer run --until-end: %s", r)
	}
	account := p.verify()
	logged := decisions(t, consumer.Stderr.String())
	for position, id := range positions {
		var audited []string
		for _, e := range p.audited(id) {
			audited = append(audited, e.Decision+" "+e.Reason)
			expect.That(t, e.Source == position, "an audit event of %s speaks of %s", position, e.Source)
		}
		if !slices.Equal(audited, want[id]) {
			t.Errorf("%s: audited %q, want %q\n%s", id, audited, want[id], account.Journey(position))
		}
		// A delivery at the first attempt is no news, unless the log is asked for it.
		if id != "well" && !slices.Equal(logged[position], want[id]) {
			t.Errorf("%s: logged %q, want %q", id, logged[position], want[id])
		}
	}
}

// decisions are the logged ones by input record.
func decisions(t *testing.T, log string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.Lines(log) {
		var l struct {
			Time                          time.Time
			Msg, Source, Decision, Reason string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("a log line is not JSON: %v: %s", err, line)
			continue
		}
		if l.Msg == "decision" {
			out[l.Source] = append(out[l.Source], l.Decision+" "+l.Reason)
		}
		expect.That(t, !l.Time.IsZero(), "a log line has no time: %s", line)
	}
	return out
}
