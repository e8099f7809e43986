//go:build !race

package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// mutant is one edit of one rule. The explorer must find it.
type mutant struct{ name, file, was, is string }

// mutants are wrong rules that a developer could write.
var mutants = []mutant{
	{"the commit goes one too far", "../offsets/window.go", "w.next = w.taken[0].First", "w.next = w.taken[0].First + 1"},
	{"the commit names what is finished beyond the position alone", "../offsets/window.go", "w.next = w.taken[n].Last + 1", "w.next = w.taken[n].Last"},
	{"what a former owner finished is done again", "../offsets/window.go", "fresh bool) {\n\tfor len", "fresh bool) {\n\tw.restored = nil\n\tfor len"},
	{"what a former owner finished is not committed again", "../offsets/window.go", "for _, s := range w.restored {\n\t\tif", "for _, s := range w.restored[:0] {\n\t\tif"},
	{"a run of finished offsets is one too long", "../offsets/metadata.go", "uint64(s.Last-s.First+1)", "uint64(s.Last-s.First+2)"},
	{"gaps are counted from the last offset of a run", "../offsets/metadata.go", "at = s.Last + 1", "at = s.Last"},
	{"the metadata is not read", "../partition/partition.go", "offsets.DecodeFinished(committed.Offset, committed.Metadata)", `offsets.DecodeFinished(committed.Offset, "")`},
	{"the metadata is not written", "../partition/partition.go", "offsets.Seal(m.Metadata, ", `offsets.Seal("", `},
	{"one more record is started than the metadata has room for", "../schedule/partition.go", "index+1-g.finished <= max(", "index-g.finished <= max("},
	{"the checkpoint forgets what is finished beyond the position", "../memory/binding.go", "Commit: m}", "Commit: offsets.Commit{Offset: m.Offset}}"},
	{"an attempt before its time", "../../policy/decide.go", "if !now.Before(due) {", "if true {"},
	{"the delay is forgotten", "../../policy/decide.go", "header.RoundUp(now.Add(later(delay, added)))", "header.RoundUp(now.Add(0 * later(delay, added)))"},
	{"one attempt too many", "../../policy/decide.go", "tried.Attempts >= policy.MaxAttempts", "tried.Attempts > policy.MaxAttempts"},
	{"an older version is the newer one", "../../header/version.go", "v.Number == w.Number && v.Offset < w.Offset", "v.Number == w.Number && v.Offset > w.Offset"},
	{"the first event behind a delete is older than it", "../../statetopic/latest.go", "v.Offset < n.Deleted", "v.Offset <= n.Deleted"},
	{"a delete has no version", "../memory/judge.go", "v.Number = newest.Number\n", "v.Number = 0\n"},
	{"every event of a known key is a duplicate", "../memory/judge.go", "ok && content == p.last.Content", "ok && content == content"},
	{"no event is held to its version", "../../../../internal/keyorder/rules.go", "return rules.Mode == LatestWins ||", "return"},
	{"what took effect is not noted for a key that waits", "../attempt/effect.go", "st = st.WithApplied(effect.Version)", "_ = st.WithApplied(effect.Version)"},
	{"nobody counts what waits", "../../../../internal/keyorder/state.go", "\t\tst.Waiting++\n", "\t\tst.Waiting += 0\n"},
	{"a strict key is not blocked", "../../../../internal/keyorder/rules.go", "if !st.Waits() && st.Held == \"\" {\n\t\treturn", "if true {\n\t\treturn"},
	{"the next number of a strict key is not up", "../../../../internal/keyorder/rules.go", "r.Number > 0 && r.Number == st.Next", "r.Number > 0 && r.Number < st.Next"},
	{"a dead letter does not hold its key", "../../../../internal/keyorder/rules.go", "st = st.holdWhole(r, deadLetter)", "_ = st.holdWhole(r, deadLetter)"},
	{"a state is read without its newest version", "../../statetopic/order.go", "Applied: w.Applied, ", ""},
	{"what is in the ledger is not written", "../memory/records.go", "\t\tif c.ledged {", "\t\tif false {"},
	{"the ledger keeps what was not committed", "../memory/partition.go", "\t\tc.undo(&next)", "\t\t_ = c"},
	{"the version of a key is not written", "../memory/records.go", "if c.versioned {", "if false {"},
	{"a version that was not committed is kept", "../memory/change.go", "case c.lasting || !c.versioned:", "case c.lasting || !c.versioned || p.latest != nil:"},
	{"the version of a key is not read", "../memory/partition.go", "past.kept, past.keeps = p.latest.of(hash)", "_ = p.latest"},
	{"the ledger is taken back in the wrong order", "../memory/partition.go", "slices.Backward(p.noted)", "slices.All(p.noted)"},
	{"a state that was not committed stays", "../memory/partition.go", "next.keys = maps.Clone(p.base)", "next.keys = maps.Clone(p.keys)"},
	{"a verdict that rested on the state of a key is kept", "../attempt/results.go", "o == policy.OutcomeDuplicate || o == policy.OutcomeSuperseded", "o == policy.OutcomeSkipped"},
}

// someMutants break a rule of commits, one of transactions, and one of order. Each costs about ten CPU seconds.
var someMutants = []string{"the commit goes one too far", "a state that was not committed stays", "a dead letter does not hold its key"}

// TestExploreMutants_S3_1_aWrongRuleIsFoundOut checks that the explorer finds a violation in each mutant. A mutant is
// the engine with one edit, built with an overlay and explored by its own program. SWITCHBACK_TEST_MUTANTS selects
// the mutants: all, some (three), or those with this text in their names. Without it a nightly run tries all, and
// other runs try none.
func TestExploreMutants_S3_1_aWrongRuleIsFoundOut(t *testing.T) {
	asked := os.Getenv("SWITCHBACK_TEST_MUTANTS")
	if asked == "" {
		testrun.Nightly(t)
		asked = "all"
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("mutants are built with the go command: %v", err)
	}
	tried := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		switch asked {
		case "all":
			return false
		case "some":
			return !slices.Contains(someMutants, m.name)
		default:
			return !strings.Contains(m.name, asked)
		}
	})
	must.That(t, len(tried) != 0, "SWITCHBACK_TEST_MUTANTS is %q, and can be all, some, or a part of a mutant's name", asked)
	dir := must.Get(os.Getwd())(t)
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for _, m := range tried {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			found, err := m.found(t, dir, t.TempDir())
			switch {
			case err != nil:
				t.Errorf("%s: %v", m.name, err)
			case found == "":
				t.Errorf("%s: no violation was found", m.name)
			default:
				t.Logf("%-60s %s", m.name, found)
			}
		})
	}
	all.Wait()
	t.Logf("%d of %d mutants tried", len(tried), len(mutants))
}

// found builds a mutant, explores it, and returns the promise that it violates; "" if it violates none.
func (m *mutant) found(t *testing.T, source, dir string) (string, error) {
	overlay, err := m.overlay(source, dir)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "mutant.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", program, ".")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build it: %w: %s", err, out)
	}
	run := exec.CommandContext(t.Context(), program, "-test.run=^TestExplore_", "-test.v", "-test.timeout=5m")
	run.Dir, run.Env = source, append(os.Environ(), "SWITCHBACK_TEST_HISTORIES=mutants")
	out, err := run.CombinedOutput()
	_, after, broken := strings.Cut(string(out), violationMark)
	switch {
	case err == nil:
		return "", nil
	case !broken || bytes.Contains(out, []byte("panic:")):
		return "", fmt.Errorf("it failed without a violation: %w: %s", err, out)
	}
	found, _, _ := strings.Cut(after, "\n")
	return found, nil
}

// overlay writes the edited file, and a build overlay with it that contains only the explorer's tests.
func (m *mutant) overlay(source, dir string) (string, error) {
	path := filepath.Join(source, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.was); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want once: the rule was changed, so change its mutant", m.file, m.was, n)
	}
	edited := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(edited, []byte(strings.Replace(string(text), m.was, m.is, 1)), 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{path: edited}
	tests, err := filepath.Glob(filepath.Join(source, "*_test.go"))
	if err != nil {
		return "", err
	}
	for _, test := range tests {
		if name := filepath.Base(test); !strings.HasPrefix(name, "explore_") || name == "explore_mutants_test.go" {
			replace[test] = ""
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}
