package plan_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

var head = plan.Head{
	ID: "replay-1", Pipeline: "parcels", Source: "features", DLQ: "features.dlq", By: "ana",
	MadeAt: time.Date(2026, 11, 3, 4, 5, 6, 7_000_000, time.UTC),
	Filter: deadletters.Filter{Codes: []string{"wrong_type"}, Since: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
	Seen:   map[string]map[int32]int64{"features": {0: 12, 3: 40}},
}

func letters() []plan.Line {
	return []plan.Line{
		{Partition: 0, Offset: 3, ID: "a", ContentHash: "sha256:1", Group: "g", Died: "wrong_type", FeatureID: "P-1", Size: 10, Do: plan.Reinject, Today: plan.Verdict{Passes: true}},
		{Partition: 0, Offset: 9, ID: "b", ContentHash: "sha256:1", Group: "g", Died: "wrong_type", Size: 10, Do: plan.Duplicate, DuplicateOf: "a", Today: plan.Verdict{Passes: true}},
		{Partition: 3, Offset: 1, ID: "c", ContentHash: "sha256:2", Group: "h", Died: "timeout", ReprocessCount: 2, StateAt: 1_700_000_000_000, Size: 7, Do: plan.Reinject,
			Today: plan.Verdict{Code: classify.CodeWrongType, Class: classify.Row, Stage: classify.StageTransform, Message: `"AREA" is "N/A"`}},
		{Partition: 3, Offset: 2, ID: "d", Group: "h", Do: plan.Leave, Why: "it is discarded since 2026-11-03T04:05:06Z (by bo)"},
		{Partition: 3, Offset: 5, ID: "e", Group: "h", Size: 1, Do: plan.Reinject, Today: plan.Verdict{Passes: true, Superseded: true}},
	}
}

func addAll(w *plan.Writer) error {
	for _, l := range letters() {
		if err := w.Add(&l); err != nil {
			return err
		}
	}
	return nil
}

func saved(t *testing.T) (*plan.Plan, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.jsonl")
	p := must.Get(plan.Save(path, head, addAll))(t)
	return p, path
}

func all(t *testing.T, p *plan.Plan) []plan.Line {
	t.Helper()
	var out []plan.Line
	for l, err := range p.All() {
		must.Do(t, err)
		out = append(out, *l)
	}
	return out
}

// parse reads a file with a text.
func parse(t *testing.T, text string) (*plan.Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return plan.Open(path)
}

func TestPlan_comes_back_as_it_was_written(t *testing.T) {
	t.Parallel()
	written, path := saved(t)
	read := must.Get(plan.Open(path))(t)
	for name, p := range map[string]*plan.Plan{"written": written, "read": read} {
		expect.That(t, reflect.DeepEqual(p.Head, head), "%s: head %+v", name, p.Head)
		got := all(t, p)
		expect.That(t, reflect.DeepEqual(got, letters()), "%s: dead letters %+v", name, got)
		expect.That(t, p.Letters == 5 && reflect.DeepEqual(p.Spans, map[int32]kafka.Span{0: {Start: 3, End: 10}, 3: {Start: 1, End: 6}}), "%s: %d dead letters, spans %v", name, p.Letters, p.Spans)
		want := plan.Summary{Selected: 5, Reinject: 3, Duplicates: 1, Left: 1, WouldPass: 2, WouldFail: 1, Superseded: 1, Bytes: 18}
		expect.That(t, p.Summary() == want, "%s: %+v", name, p.Summary())
	}
	expect.That(t, written.Checksum == read.Checksum && strings.HasPrefix(read.Checksum, "sha256:"), "checksums %q and %q", written.Checksum, read.Checksum)
	info, err := os.Stat(path)
	expect.That(t, err == nil && info.Mode().Perm() == 0o600, "%v, %v", info.Mode(), err)
}

func TestPlan_refuses_what_was_changed_or_damaged(t *testing.T) {
	t.Parallel()
	_, path := saved(t)
	whole := must.Get(os.ReadFile(path))(t)
	text := string(whole)
	lines := strings.SplitAfter(text, "\n")
	for name, c := range map[string]struct{ text, says string }{
		"empty":                   {"", "the file is empty"},
		"another file":            {`{"name":"x"}`, "not the first line of a plan"},
		"no JSON":                 {"pipeline: x", "not the first line of a plan"},
		"newer version":           {strings.Replace(text, `"version":1`, `"version":2`, 1), "newer version"},
		"unknown member":          {strings.Replace(text, `"by":"ana"`, `"by":"ana","x":1`, 1), "x"},
		"head changed":            {strings.Replace(text, `"by":"ana"`, `"by":"bo"`, 1), "checksum"},
		"head without id":         {strings.Replace(text, `"id":"replay-1"`, `"id":""`, 1), "missing"},
		"dead letter changed":     {strings.Replace(text, `"id":"c"`, `"id":"x"`, 1), "checksum"},
		"dead letter removed":     {strings.Join(append(append([]string{}, lines[:2]...), lines[3:]...), ""), "checksum"},
		"dead letters swapped":    {strings.Join([]string{lines[0], lines[2], lines[1], lines[6]}, ""), "line 3: dead letter a at 0/3 comes after"},
		"dead letter twice":       {strings.Join([]string{lines[0], lines[1], lines[1]}, ""), "comes after"},
		"unknown action":          {strings.Replace(text, `"do":"reinject"`, `"do":"burn"`, 1), `line 2: dead letter a: unknown action "burn"`},
		"negative offset":         {strings.Replace(text, `"offset":3`, `"offset":-3`, 1), "both start at 0"},
		"member of a dead letter": {strings.Replace(text, `"size":10`, `"size":10,"why_not":1`, 1), "why_not"},
		"broken off":              {strings.Join(lines[:4], ""), "its last line is missing"},
		"half a line":             {text[:len(lines[0])+20], "line 2"},
		"more behind it":          {text + lines[1], "continues after the end"},
		"wrong count":             {strings.Replace(text, `"dead_letters":5`, `"dead_letters":4`, 1), "its last line says 4"},
	} {
		_, err := parse(t, c.text)
		expect.That(t, errors.Is(err, plan.ErrPlan) && strings.Contains(err.Error(), c.says), "%s: got %v, want %q", name, err, c.says)
	}
	_, err := parse(t, strings.Replace(text, `"version":1`, `"version":2`, 1))
	expect.That(t, errors.Is(err, plan.ErrNewer), "a newer version: %v", err)
	_, err = plan.Open(filepath.Join(t.TempDir(), "absent"))
	expect.That(t, errors.Is(err, os.ErrNotExist), "an absent file: %v", err)
}

func TestSave_leaves_nothing_behind_when_it_fails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := errors.New("broken")
	_, err := plan.Save(filepath.Join(dir, "p"), head, func(*plan.Writer) error { return broken })
	expect.That(t, errors.Is(err, broken), "got %v", err)
	left, err := os.ReadDir(dir)
	expect.That(t, err == nil && len(left) == 0, "%v, %v", left, err)
}

// A plan travels as a file: whoever made it cannot have it fill the memory of who applies it.
func TestPlan_S4_8_refuses_lines_that_no_plan_has(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a long line":  `{"partition":0,"offset":1,"id":"a","content_hash":"x","group":"g","size":1,"do":"leave","why":"` + strings.Repeat("x", 65<<10) + `"}`,
		"a long group": `{"partition":0,"offset":1,"id":"a","content_hash":"x","group":"` + strings.Repeat("g", 5000) + `","size":1,"do":"leave"}`,
		"a long id":    `{"partition":0,"offset":1,"id":"` + strings.Repeat("i", 5000) + `","content_hash":"x","group":"g","size":1,"do":"leave"}`,
		"deep":         strings.Repeat("[", 60_000),
	} {
		_, err := parse(t, firstLine(t)+"\n"+line+"\n")
		expect.That(t, errors.Is(err, plan.ErrPlan) && strings.Contains(err.Error(), "line 2") && len(err.Error()) <= 1000, "%s: %.300v", name, err)
	}
}

// firstLine is the head of a plan.
func firstLine(t *testing.T) string {
	t.Helper()
	_, path := saved(t)
	text := must.Get(os.ReadFile(path))(t)
	head, _, _ := strings.Cut(string(text), "\n")
	return head
}

func TestOutlook_is_bounded_and_counts_everything(t *testing.T) {
	t.Parallel()
	p := must.Get(plan.Scratch(head, func(w *plan.Writer) error {
		for i := range 3000 {
			today := plan.Verdict{Passes: i%3 == 0, Code: "row_failure"}
			if err := w.Add(&plan.Line{Offset: int64(i), ID: fmt.Sprint(i), Group: fmt.Sprint(i), Do: plan.Reinject, Today: today}); err != nil {
				return err
			}
		}
		return nil
	}))(t)
	t.Cleanup(func() { expect.Do(t, p.Close()) })
	n, passing := 0, 0
	for _, o := range p.Outlook() {
		n += o.Count
		if o.Passes {
			passing += o.Count
		}
	}
	expect.That(t, n == 3000 && passing == 1000 && len(p.Outlook()) <= 1002, "%d dead letters in %d lines, %d would pass", n, len(p.Outlook()), passing)
}

// Whatever is read as a plan can be written again, and is the same plan then.
func FuzzParse(f *testing.F) {
	path := filepath.Join(f.TempDir(), "plan")
	for _, fill := range []func(*plan.Writer) error{addAll, func(*plan.Writer) error { return nil }} {
		must.Get(plan.Save(path, head, fill))(f)
		text := must.Get(os.ReadFile(path))(f)
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse(t, string(data))
		if err != nil {
			expect.That(t, errors.Is(err, plan.ErrPlan), "%v is not marked as ErrPlan", err)
			return
		}
		again, err := plan.Scratch(p.Head, func(w *plan.Writer) error {
			for l, err := range p.All() {
				must.Do(t, err)
				must.Do(t, w.Add(l))
			}
			return nil
		})
		must.That(t, err == nil && again.Letters == p.Letters && again.Summary() == p.Summary(), "written again: %+v, %v", again, err)
		expect.Do(t, again.Close())
	})
}

// A process that is killed runs no deferred call: what has no name needs none.
func TestScratch_leaves_nothing_in_the_temporary_folder_whatever_ends_the_process(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	p := must.Get(plan.Scratch(head, addAll))(t)
	nothingIn(t, dir)
	kept, _ := saved(t)
	if !reflect.DeepEqual(all(t, p), letters()) || !reflect.DeepEqual(all(t, p), letters()) || p.Checksum != kept.Checksum {
		t.Errorf("it reads as %+v", all(t, p))
	}
	expect.Do(t, p.Close())
	for _, err := range p.All() {
		expect.That(t, err != nil, "it can be read after it was closed")
	}
	expect.Do(t, kept.Close(), "a plan of another kind")
}

func TestScratch_leaves_nothing_when_the_letters_cannot_be_had(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	broken := errors.New("broken")
	_, err := plan.Scratch(head, func(*plan.Writer) error { return broken })
	expect.That(t, errors.Is(err, broken), "got %v", err)
	nothingIn(t, dir)
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.That(t, err == nil && len(entries) == 0, "%v, %v", entries, err)
}
