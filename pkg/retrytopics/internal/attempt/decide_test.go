package attempt

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// A chain of decorrelated delays stays within base and cap, and each delay follows from the previous one in the
// headers.
func TestDecide_S4_4_decorrelated_jitter_follows_the_headers(t *testing.T) {
	t.Parallel()
	tiers := []policy.Tier{{Topic: "f.retry-2s", Delay: 2 * time.Second}, {Topic: "f.retry-8s", Delay: 8 * time.Second}, {Topic: "f.retry-60s", Delay: time.Minute}}
	policies := policy.Policies{Default: policy.Policy{Strategy: policy.StrategyDecorrelatedJitter, BaseDelay: time.Second, MaxDelay: 30 * time.Second, MaxAttempts: 200}}
	source, now := rand.New(rand.NewPCG(4, 7)), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	r := &retrytopics.Record{Attempt: 1, Control: &header.Control{}}
	for ; r.Attempt < 200; r.Attempt++ {
		last := max(tried(r).LastDelay, time.Second)
		d := policy.Decide(policies, tiers, tried(r), classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, Err: errors.New("x")}, now, source.Float64)
		wait := d.Due.Sub(now)
		must.That(t, wait >= time.Second && wait <= min(30*time.Second, 3*last)+time.Millisecond, "attempt %d: %v after %v", r.Attempt, wait, last)
		r.Control = &header.Control{Attempt: r.Attempt, FailedAt: now, Due: d.Due}
		now = d.Due
	}
}

// A hostile producer cannot flood the log: each kind of doubt is logged at most once in ten seconds, and the next
// line counts what was left out.
func TestDoubts_S0_7_areCountedAndLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log, now := slog.New(slog.NewTextHandler(&text, nil)), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var d doubts
	at := header.Position{Topic: "features", Partition: 3, Offset: 41}
	for range 5 {
		d.note(log, at, &retrytopics.DoubtError{Doubt: retrytopics.DoubtMissing, Reason: "no header"}, now)
	}
	d.note(log, at, &retrytopics.DoubtError{Doubt: retrytopics.DoubtInvalid, Reason: "changed"}, now)
	d.note(log, at, &retrytopics.DoubtError{Doubt: retrytopics.DoubtMissing, Reason: "no header"}, now.Add(doubtPause))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `topic=features partition=3 offset=41 reason=missing error="no header" not_logged=0`) ||
		!strings.Contains(lines[1], "reason=invalid") || !strings.Contains(lines[2], "not_logged=4") {
		t.Errorf("logged\n%s", text.String())
	}
	got := d.Snapshot()
	expect.That(t, got[retrytopics.DoubtMissing] == 6 && got[retrytopics.DoubtInvalid] == 1 && len(got) == len(retrytopics.Doubts()), "counted %v", got)
}
