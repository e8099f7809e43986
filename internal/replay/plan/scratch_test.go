package plan_test

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Each(func(*plan.Letter) error { return nil }); err == nil {
		t.Error("it can be read after it was closed")
	}
	if err := kept.Close(); err != nil {
		t.Errorf("a plan of another kind: %v", err)
	}
}

func TestScratch_leaves_nothing_when_the_letters_cannot_be_had(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	broken := errors.New("broken")
	if _, err := plan.Scratch(head, func(*plan.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	nothingIn(t, dir)
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
