package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// closed makes a letter of each feature's first event that the consumer closes as superseded, since a newer event took
// effect. It ends with 2n inputs.
func (p *pipe) closed(ids ...string) {
	p.t.Helper()
	n := len(ids)
	p.overtaken(ids...)
	p.replay("--execute")
	p.drain()
	wantTotals(p.t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: n, Closed: n, Output: n})
	p.wantStates(n, "superseded")
}

// reopen is the command line that takes back what the consumer closed as superseded.
func (p *pipe) reopen(args ...string) []string {
	return append([]string{"reopen", "-c", p.file, "--status", "superseded", "--reason", "the first survey was right"}, args...)
}

// wants runs a replayer's command and wants an exit code, and words on the standard error.
func (p *pipe) wants(code int, words string, args ...string) {
	p.t.Helper()
	if r := p.run("replayer", args...); r.Code != code || !strings.Contains(r.Stderr, words) {
		p.t.Errorf("replayer %s: exit code %d, want %d; on the standard error: %s; want %q", args[0], r.Code, code, r.Stderr, words)
	}
}

// S4-8: a letter that was closed as superseded takes effect once an operator reopens it and forces its replay, and not
// before. The words of each command lead to the next.
func TestReopenSuperseded_S4_8(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	for name, source := range map[string]string{"by_offset": "", "by_field": "version: properties.level"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 6
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Source = source }).ensure()
			all := ids("f", n)
			p.closed(all...)
			file := filepath.Join(t.TempDir(), "forced.jsonl")
			plan := []string{"plan", "-c", p.file, "-f", file}
			p.wants(exitNothing, fmt.Sprintf("replayer reopen -c %s --status superseded --execute --reason 'why'", p.file), plan...)
			p.wants(exitRefused, "Dry run: nothing was changed", p.reopen()...)
			p.wantStates(n, "superseded")
			p.wants(0, "a plain replay closes them once more. To let the older version win:\n  replayer plan -c "+p.file+" --id ", p.reopen("--execute")...)
			p.wantStates(n, "pending")

			p.replay("--execute") // not forced
			p.drain()
			p.wantStates(n, "superseded")
			p.wantLevels(n, 5)

			p.wants(0, "--force-version", p.reopen("--execute")...)
			p.wants(0, "--plan", append(plan, "--force-version", "--reason", "the first survey was right")...)
			apply := []string{"replay", "--plan", file, "-c", p.file, "--force-version", "--execute", "--reason", "agreed"}
			p.wants(0, "will overwrite newer data: 6, forced", apply...)
			p.drain()
			p.wantStates(n, "reprocessed")
			p.wantLevels(n, 5, 1)
			wantTotals(t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: 3 * n, Closed: 2 * n, Output: 2 * n})
			p.wants(0, "", apply...) // once more
			p.drain()
			p.wantLevels(n, 5, 1)
			p.wants(exitNothing, "no dead letter", p.reopen("--execute")...)
			if r := p.run("consumer", "verify", "audit", "-c", p.file); r.Code != 0 {
				t.Errorf("the audit trail: %s", r)
			}
		})
	}
}
