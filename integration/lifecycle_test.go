package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-12: after SIGTERM, a consumer finishes the records in flight, commits them, and exits with code 0.
func TestSigterm_S4_12(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, time.Minute).ensure()
	release := make(chan struct{})
	p.places.Script("slow", misbehave.Answer{Status: 200, Hold: release})
	consumer := p.start("it")
	p.send("slow")
	p.places.UntilArrivals(p.ctx, t, "slow", 1)
	consumer.Signal(t, syscall.SIGTERM)
	close(release)
	expect.Equal(t, consumer.Wait(p.ctx, t).Code, 0, "exit code after SIGTERM")
	wantTotals(t, p.verify(), 1, conservation.Place{Output: 1})
	expect.Equal(t, len(p.places.Arrivals("slow")), 1, "requests")
	p.members(0)
}

// S4-12, S4-5: SIGHUP applies the settings that a running consumer can change, names those that need a restart, and
// never ends the consumer.
func TestReload_S4_12_S4_5_takesUpWhatItCan(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, time.Minute).ensure()
	rewrite := func(old, changed string) {
		t.Helper()
		text, err := os.ReadFile(p.file)
		must.That(t, err == nil && strings.Contains(string(text), old), "no %q in the file: %v", old, err)
		must.Do(t, os.WriteFile(p.file, []byte(strings.Replace(string(text), old, changed, 1)), 0o600))
	}
	rewrite("retry_after: record }", "retry_after: record, rate: { per_second: 100, burst: 10 } }")
	consumer := p.start("it")
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"msg":"consumer started"`))

	rewrite("per_second: 100", "per_second: 200")
	rewrite("timeout: 30s, allow", "timeout: 31s, allow")
	rewrite("audit: all", "audit: all\nlog: { level: debug }")
	consumer.Signal(t, syscall.SIGHUP)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`this change needs a restart".*"key":"enrich\[0\]\.http\.timeout"`))
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"configuration reloaded".*"changed":"enrich\[0\]\.http\.rate\.per_second, log\.level","needs_restart":1`))

	output := p.log.Tail(t, p.topics.Output)
	p.send("a")
	output.UntilCount(p.ctx, t, "output", 1)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"level":"DEBUG","msg":"decision"`))

	rewrite("max_attempts: 5", "max_attempts: none")
	consumer.Signal(t, syscall.SIGHUP)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`SIGHUP: the configuration is not reloaded.*pipeline\.retry_policy\.max_attempts`))
	p.send("b")
	output.Until(p.ctx, t, "an output after an invalid file", func(seen []*kgo.Record) bool { return len(seen) == 2 })
	p.stop(consumer)
}

// S4-12: two bounded runs of one group share the work. Each ends when the group has nothing left to do, with a summary
// of its own part.
func TestTwoBoundedRuns_S4_12(t *testing.T) {
	parallel(t, testrun.Fast)
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
		expect.Equal(t, run.Wait(p.ctx, t).Code, 0, "exit code of a bounded run")
		text := must.Get(os.ReadFile(file))(t)
		s := readSummary(t, string(text))
		delivered += s.number(t, "delivered")
		expect.That(t, s["status"] == "completed" && s.number(t, "waiting") == 0, "summary: %v", s)
	}
	expect.That(t, delivered == n, "the summaries have %d deliveries, want %d", delivered, n)
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
}

var metricsServed = regexp.MustCompile(`"msg":"metrics served".*"address":("[^"]+")`)

// S2-7: the running consumer serves its health and its metrics, and the metrics match the topics.
func TestMetrics_S2_7(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = "127.0.0.1:0" }).ensure()
	p.places.Script("once", misbehave.Status(503))
	p.places.Script("gone", misbehave.Status(404), misbehave.Status(404))
	p.send("fine", "gone")
	p.drain()
	consumer := p.start("it")
	address := p.metricsAddress(consumer)
	if code, body := p.get(address, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d %s", code, body)
	}
	p.untilReadyz(address, http.StatusOK)
	p.untilMetrics(address, `switchback_dead_letters_pending{pipeline="[^"]+"} 1`)
	p.send("well", "once", "gone")
	p.untilMetrics(address,
		`switchback_records_consumed_total{pipeline="[^"]+"} 3`,
		`switchback_records_delivered_total{pipeline="[^"]+"} 2`,
		`switchback_records_retried_total{pipeline="[^"]+",tier="`+regexp.QuoteMeta(p.topics.Tiers[0])+`"} 1`,
		`switchback_records_dead_lettered_total{category="request",code="http_not_found",pipeline="[^"]+",priority="P4"} 1`,
		`go_goroutines{pipeline="[^"]+"} \d+`,
	)
	p.stop(consumer)
}

// untilMetrics waits until a consumer serves these metrics.
func (p *pipe) untilMetrics(address string, lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		whole := regexp.MustCompile("(?m)^" + line + "$")
		eventually.Until(p.ctx, p.t, "the metric "+line, func() (bool, string) {
			_, body := p.get(address, "/metrics")
			return whole.MatchString(body), body
		})
	}
}

// get sends a request to the consumer's HTTP server. It returns code 0 for a failed request.
func (p *pipe) get(address, path string) (code int, body string) {
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// metricsAddress returns the address of a consumer's metrics.
func (p *pipe) metricsAddress(consumer *proc.Process) (address string) {
	p.t.Helper()
	must.Do(p.t, json.Unmarshal([]byte(consumer.WaitFor(p.ctx, p.t, consumer.Stderr, metricsServed)[1]), &address))
	return address
}

// stopping matches what a consumer prints when it received a signal to stop.
var stopping = regexp.MustCompile(`(?m)^consumer: stopping`)

// S4-12: a second signal exits at once, whatever is in flight, with the exit code that shells use for the signal. No
// record is lost.
func TestSecondSignal_S4_12(t *testing.T) {
	parallel(t, testrun.Fast)
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"SIGTERM": {syscall.SIGTERM, 143}, "SIGINT": {syscall.SIGINT, 130}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, time.Minute, shortSession, func(s *settings) { s.Timeout, s.Shutdown = "55s", "1h" }).ensure() // only the second signal ends the request
			p.places.Script("stuck", misbehave.Answer{Status: 200, Hold: make(chan struct{})})
			consumer := p.start("it")
			p.send("stuck")
			p.places.UntilArrivals(p.ctx, t, "stuck", 1)
			consumer.Signal(t, c.signal)
			consumer.WaitFor(p.ctx, t, consumer.Stderr, stopping)
			stopped := time.Now()
			eventually.Until(p.ctx, t, "the end of the window in which a repeated signal counts as one", func() (bool, string) {
				return time.Since(stopped) > 200*time.Millisecond, ""
			})
			consumer.Signal(t, c.signal)
			expect.Equal(t, consumer.Wait(p.ctx, t).Code, c.code, "exit code")
			p.drain()
			wantTotals(t, p.verify(), 1, conservation.Place{Output: 1})
		})
	}
}
