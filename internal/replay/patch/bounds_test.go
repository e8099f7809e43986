package patch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// nested is a document with something nested so deep, and something beside it.
func nested(open, shut string, depth int) string {
	return `{"properties":{"deep":` + strings.Repeat(open, depth) + "1" + strings.Repeat(shut, depth) + `,"n":1}}`
}

// S4-8: a hostile document is edited like any other.
func TestEdit_S4_8_hostileDocuments(t *testing.T) {
	t.Parallel()
	wide := func(one string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, one, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		doc, set string
		changes  int
	}{
		"deep arrays":       {nested("[", "]", 5000), "properties.n=2", 1},
		"deep objects":      {nested(`{"a":`, "}", 5000), "properties.n=2", 1},
		"changed deep down": {nested(`{"a":`, "}", 200), "/properties/deep" + strings.Repeat("/a", 200) + "=2", 1},
		"long names":        {nested(`{"`+strings.Repeat("n", 1000)+`":`, "}", 5000), "properties.n=2", 1},
		"a wide object":     {`{"properties":{` + wide(`"k%d":0,`, 300_000) + `"n":1}}`, "properties.n=2", 1},
		"a wide array":      {`{"properties":{"w":[` + wide("%d,", 500_000) + `1],"n":1}}`, "properties.n=2", 1},
		"doubled names":     {`{"properties":{` + strings.Repeat(`"k":0,`, 300_000) + `"n":1}}`, "properties.n=2", 1},
		"a long text":       {`{"properties":{"t":"` + strings.Repeat("x", 4<<20) + `","n":1}}`, "properties.n=2", 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := must.Get(patch.Parse(patch.Source{Set: []string{c.set}}))(t)
			out := must.Get(e.Apply(t.Context(), []byte(c.doc)))(t)
			changes, more, err := patch.Diff(t.Context(), []byte(c.doc), out)
			expect.That(t, err == nil && len(changes) == c.changes && more == 0, "%d changes and %d more, %v", len(changes), more, err)
		})
	}
}

func TestDiff_names_the_first_thousand_changes_and_counts_the_others(t *testing.T) {
	t.Parallel()
	list := func(n string) []byte { return []byte("[" + strings.TrimSuffix(strings.Repeat(n+",", 2500), ",") + "]") }
	changes, more, err := patch.Diff(t.Context(), list("1"), list("2"))
	expect.That(t, err == nil && len(changes) == 1000 && more == 1500 && changes[999].Path == "/999", "%d and %d more, %v", len(changes), more, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = patch.Diff(ctx, list("1"), list("2"))
	expect.That(t, errors.Is(err, context.Canceled), "%v", err)
	long, longer := list("1"), append(append([]byte("[1,"), list("1")[1:]...), ' ')
	changes, _, err = patch.Diff(t.Context(), long, longer)
	expect.That(t, err == nil && len(changes) == 1 && changes[0].Path == "", "%d changes, %v", len(changes), err)
}

func TestEdit_S4_8_refuses_edits_without_bounds(t *testing.T) {
	t.Parallel()
	laughs := `[{"op":"add","path":"/a","value":["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]}`
	for range 40 {
		laughs += `,{"op":"copy","from":"/a","path":"/a/-"}`
	}
	for name, s := range map[string]patch.Source{
		"copies of copies":    {Patch: []byte(laughs + "]")},
		"too many operations": {Patch: []byte("[" + strings.TrimSuffix(strings.Repeat(`{"op":"remove","path":"/a"},`, 10_001), ",") + "]")},
		"a deep merge":        {Merge: []byte(strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101))},
		"a large merge":       {Merge: []byte(`{"a":"` + strings.Repeat("x", 8<<20) + `"}`)},
		"large assignments":   {Set: []string{"a=1", "b=" + strings.Repeat("x", 8<<20)}},
	} {
		e, err := patch.Parse(s)
		if err == nil {
			_, err = e.Apply(t.Context(), []byte(doc))
		}
		expect.That(t, errors.Is(err, patch.ErrEdit) && len(err.Error()) <= 1000, "%s: %.200v", name, err)
	}
	e := must.Get(patch.Parse(patch.Source{Merge: []byte(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100))}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := e.Apply(ctx, []byte(doc))
	expect.That(t, errors.Is(err, context.Canceled), "%v", err)
}
