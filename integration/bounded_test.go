package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-12: two bounded runs of one group share the work; each ends when the group
// as a whole is done, with a summary of its own part.
func TestTwoBoundedRuns_S4_12(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.Partitions = 6 }).ensure()
	const n = 400
	all := ids("s", n)
	for i, id := range all {
		if i%20 == 0 {
			p.places.Script(id, misbehave.Status(503))
		}
	}
	p.send(all...)
	dir := t.TempDir()
	runs := map[string]*proc.Process{}
	for _, name := range []string{"one", "two"} {
		runs[filepath.Join(dir, name)] = p.start(name, "--until-end", "--summary", filepath.Join(dir, name))
	}
	delivered := 0
	for file, run := range runs {
		if r := run.Wait(p.ctx, t); r.Code != 0 {
			t.Errorf("a bounded run: %s", r)
		}
		text := must.Get(os.ReadFile(file))(t)
		s := readSummary(t, string(text))
		delivered += s.number(t, "delivered")
		expect.That(t, s["status"] == "completed" && s.number(t, "waiting") == 0, "summary: %v", s)
	}
	expect.That(t, delivered == n, "the summaries tell of %d deliveries, want %d", delivered, n)
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
}

// S4-12, S4-13: a run that is done, but with too many dead letters or too late, ends with a code of its own, and its log
// tells counts, limits and checkpoint.
func TestRunLimits_S4_12_S4_13(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	all := ids("l", 40)
	for _, id := range all[:8] {
		p.places.Script(id, misbehave.Status(404))
	}
	p.send(all...)
	r := p.start("it", "--until-end", "--run-id", "night-7", "--summary", "-", "--max-dlq-rate", "0.1", "--sla", "1ms").Wait(p.ctx, t)
	s := readSummary(t, r.Stdout)
	expect.That(t, r.Code == 4 && s["status"] == "completed" && s["run_id"] == "night-7" && s["max_dlq_rate"] == 0.1 && s["sla_missed"] == true && s["sla_seconds"] == 0.001,
		"a run beyond its limits: %s", r)
	for _, part := range []string{
		"8 of 40 records are dead letters", "the service level is 0.001 s", `"msg":"service level missed`, `"msg":"batch complete"`,
		`"dead_lettered_total":8`, `"dlq_rate_tolerated":0.1`, `"checkpoint":{`, `"run_id":"night-7"`,
	} {
		expect.That(t, strings.Contains(r.Stderr, part), "no word of %s in\n%s", part, r.Stderr)
	}
	if r := p.start("it", "--until-end", "--max-dlq-rate", "0.1", "--sla", "5m").Wait(p.ctx, t); r.Code != 0 {
		t.Errorf("a run with nothing to do is within its limits: %s", r)
	}
	wantTotals(t, p.verify(), 40, conservation.Place{Output: 32, Letters: 8})
}
