package integration

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/twmb/franz-go/pkg/kgo"
)

// S4-12, S4-5: SIGHUP takes up what can change in a running consumer, names what needs a restart, and never ends it.
func TestReload_S4_12_S4_5_takesUpWhatItCan(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
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
	output.Until(p.ctx, t, "output after a file with a fault", func(seen []*kgo.Record) bool { return len(seen) == 2 })
	p.stop(consumer)
}
