package patch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const doc = `{"type":"Feature","id":12345678901234567890,"properties":{"b":1.10,"a":"x<y&z","n":1e400,"AREA":"N/A","o":{"p":1,"q":2}},"geometry":{"type":"Point","coordinates":[9.50,47.100000000000001]}}`

func TestApply_S4_8_changes_what_it_names_and_keeps_the_digits_of_the_rest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source   patch.Source
		from, to string // what becomes of doc
	}{
		"replace":        {patch.Source{Patch: []byte(`[{"op":"test","path":"/properties/AREA","value":"N/A"},{"op":"replace","path":"/properties/AREA","value":0.10}]`)}, `"AREA":"N/A"`, `"AREA":0.10`},
		"remove":         {patch.Source{Patch: []byte(`[{"op":"remove","path":"/properties/n"}]`)}, `"n":1e400,`, ``},
		"large number":   {patch.Source{Set: []string{"properties.AREA=99999999999999999999.50"}}, `"N/A"`, `99999999999999999999.50`},
		"set a text":     {patch.Source{Set: []string{"properties.AREA=none <at all>"}}, `"N/A"`, `"none <at all>"`},
		"set null":       {patch.Source{Set: []string{"properties.AREA=null"}}, `"N/A"`, `null`},
		"set by pointer": {patch.Source{Set: []string{"/geometry/coordinates/0=8"}}, `[9.50,`, `[8,9.50,`},
		"merge":          {patch.Source{Merge: []byte(`{"properties":{"AREA":0,"o":{"p":null}}}`)}, `"AREA":"N/A","o":{"p":1,"q":2}`, `"AREA":0,"o":{"q":2}`},
		"merge anew":     {patch.Source{Merge: []byte(`{"properties":{"AREA":{"x":1,"y":null}}}`)}, `"N/A"`, `{"x":1}`},
		"merge nothing":  {patch.Source{Merge: []byte(`{"absent":null}`)}, ``, ``},
		"merge a list":   {patch.Source{Merge: []byte(`{"geometry":{"coordinates":[1.0,2.00]}}`)}, `[9.50,47.100000000000001]`, `[1.0,2.00]`},
	} {
		t.Run(name, func(t *testing.T) {
			e := must.Get(patch.Parse(c.source))(t)
			want := doc
			if c.from != "" {
				want = strings.Replace(doc, c.from, c.to, 1)
			}
			if name == "set by pointer" { // RFC 6902: add inserts into an array
				want = strings.Replace(doc, `[9.50,47.100000000000001]`, `[8,9.50,47.100000000000001]`, 1)
			}
			got, err := e.Apply(t.Context(), []byte(doc))
			expect.That(t, err == nil && string(got) == want, "%v\n got %s\nwant %s", err, got, want)
		})
	}
}

// The examples of RFC 7396, appendix A, with an object as target.
func TestApply_RFC7396_appendix_A(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"x/y~z.w":1}`, `{"x/y~z.w":2}`, `{"x/y~z.w":2}`},
	} {
		e := must.Get(patch.Parse(patch.Source{Merge: []byte(c[1])}))(t)
		got, err := e.Apply(t.Context(), []byte(c[0]))
		expect.That(t, err == nil && string(got) == c[2], "%s with %s gives %s, %v, want %s", c[0], c[1], got, err, c[2])
	}
}

func TestParse_and_Apply_refuse_what_does_not_fit(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]patch.Source{
		"nothing":         {},
		"two":             {Merge: []byte(`{}`), Set: []string{"a=1"}},
		"no JSON":         {Patch: []byte(`[{`)},
		"no operation":    {Patch: []byte(`[]`)},
		"merge no object": {Merge: []byte(`[1]`)},
		"no assignment":   {Set: []string{"properties.AREA"}},
		"no field":        {Set: []string{"=1"}},
	} {
		_, err := patch.Parse(s)
		expect.That(t, errors.Is(err, patch.ErrEdit), "%s: %v", name, err)
	}
	for name, s := range map[string]patch.Source{
		"test fails":        {Patch: []byte(`[{"op":"test","path":"/properties/AREA","value":1}]`)},
		"remove what is no": {Patch: []byte(`[{"op":"remove","path":"/properties/none"}]`)},
		"no parent":         {Set: []string{"properties.x.y=1"}},
		"unknown operation": {Patch: []byte(`[{"op":"burn","path":"/properties"}]`)},
	} {
		e, err := patch.Parse(s)
		if err == nil {
			_, err = e.Apply(t.Context(), []byte(doc))
		}
		expect.That(t, errors.Is(err, patch.ErrEdit), "%s: %v", name, err)
	}
	e := must.Get(patch.Parse(patch.Source{Set: []string{"a=1"}}))(t)
	_, err := e.Apply(t.Context(), []byte("\xff"))
	expect.That(t, errors.Is(err, patch.ErrEdit), "no JSON: %v", err)
}

// S4-8: a value that is not JSON can be replaced as a whole. A delete, which has no value, stays a delete.
func TestEdit_S4_8_replaces_what_is_not_JSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"op":"replace","path":"","value":{"a": 1.0}}]`:                                  `{"a": 1.0}`,
		`[{"op":"add","path":"","value":{"a":1}},{"op":"replace","path":"/a","value":2}]`:  `{"a":2}`,
		`[{"op":"replace","path":"/a","value":1}]`:                                         "",
		`[{"op":"test","path":"","value":{}},{"op":"replace","path":"","value":{}}]`:       "",
		`[{"op":"add","path":"/a","value":1},{"op":"replace","path":"","value":{"a": 1}}]`: "",
		`[{"op":"remove","path":""}]`:                                                      "",
	} {
		e := must.Get(patch.Parse(patch.Source{Patch: []byte(text)}))(t)
		got, err := e.Apply(t.Context(), []byte(`{"a":`))
		expect.That(t, string(got) == want && (want != "") == (err == nil), "%s: %s, %v", text, got, err)
		_, err = e.Apply(t.Context(), nil)
		expect.That(t, errors.Is(err, patch.ErrEdit), "%s: a delete became a value: %v", text, err)
		got, err = e.Apply(t.Context(), []byte(`5`))
		expect.That(t, string(got) == want && (want != "") == (err == nil), "%s on a number: %s, %v", text, got, err)
	}
}

// Values that are not JSON differ where their bytes do.
func TestDiff_of_what_is_not_JSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][3]string{
		"a quote":     {`{"ART":Wald,"STAND":"13.05.2024","NR":1}`, `{"ART":"Wald","STAND":"13.05.2024","NR":1}`, `{"ART":Wald,"STAND":"13.05.2024… -> {"ART":"Wald","STAND":"13.05.2024…`},
		"an end":      {`{"properties":{"NAME":"Grüningen"}`, `{"properties":{"NAME":"Grüningen"}}`, `…"NAME":"Grüningen"} -> …"NAME":"Grüningen"}}`},
		"a character": {strings.Repeat("ü", 30) + "x", strings.Repeat("ü", 30) + "y", `…üüüüüüüüüüx -> …üüüüüüüüüüy`},
		"bytes":       {"a\xff", "{}", `a\xff -> {}`},
		"far bytes":   {strings.Repeat("\x80", 500) + "1", strings.Repeat("\x80", 500) + "2", "…" + strings.Repeat(`\x80`, 20) + "1 -> …" + strings.Repeat(`\x80`, 20) + "2"},
		"a cut":       {"x" + strings.Repeat("é", 300), "y", "x" + strings.Repeat("é", 199) + "… -> y"},
		"nothing":     {"", "{}", " -> {}"},
		"much":        {strings.Repeat("x", 500), "y", strings.Repeat("x", 400) + "… -> y"},
		"the same":    {"x", "x", ""},
	} {
		changes, more, err := patch.Diff(t.Context(), []byte(c[0]), []byte(c[1]))
		must.Do(t, err)
		got := ""
		for _, one := range changes {
			var before, after string
			must.Do(t, errors.Join(json.Unmarshal(one.Before, &before), json.Unmarshal(one.After, &after)))
			got += one.Path + before + " -> " + after
		}
		expect.That(t, got == c[2] && more == 0, "%s: %q, want %q", name, got, c[2])
	}
}

func TestDiff_names_each_place(t *testing.T) {
	t.Parallel()
	changes, _, err := patch.Diff(t.Context(), []byte(doc), []byte(strings.NewReplacer(`"N/A"`, `0`, `1.10`, `1.1`, `9.50`, `9.51`, `"n":1e400,`, ``).Replace(doc)))
	must.That(t, err == nil, "%v", err)
	var got []string
	for _, c := range changes {
		got = append(got, c.Path+": "+string(c.Before)+" -> "+string(c.After))
	}
	want := `/geometry/coordinates/0: 9.50 -> 9.51|/properties/AREA: "N/A" -> 0|/properties/b: 1.10 -> 1.1|/properties/n: 1e400 -> `
	expect.That(t, strings.Join(got, "|") == want, "got  %s\nwant %s", strings.Join(got, "|"), want)
	same, _, err := patch.Diff(t.Context(), []byte(doc), []byte(" "+doc))
	expect.That(t, err == nil && len(same) == 0, "%v, %v", same, err)
}

// Whatever is merged: the answer is JSON, and merging it once more changes nothing.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(doc), []byte(`{"properties":{"AREA":0,"x/y~.":{"z":null}}}`))
	f.Add([]byte(`{"a":[1]}`), []byte(`{"a":{"b":null}}`))
	f.Fuzz(func(t *testing.T, doc, merge []byte) {
		e, err := patch.Parse(patch.Source{Merge: merge})
		if err != nil {
			return
		}
		once, err := e.Apply(t.Context(), doc)
		if err != nil {
			expect.That(t, errors.Is(err, patch.ErrEdit), "%v is not marked as ErrEdit", err)
			return
		}
		twice, err := e.Apply(t.Context(), once)
		must.That(t, err == nil, "%s, merged into %s: %v", merge, once, err)
		changes, _, err := patch.Diff(t.Context(), once, twice)
		expect.That(t, err == nil && len(changes) == 0, "merged twice: %v, %v", changes, err)
	})
}

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
