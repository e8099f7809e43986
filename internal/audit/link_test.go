package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

type entry struct {
	link audit.Link
	text []byte
}

func made(t *testing.T, n int) []entry {
	t.Helper()
	var out []entry
	var last audit.Link
	for i := range n {
		text := fmt.Appendf(nil, `{"n":%d,"by":"ana"}`, i)
		next := must.Get(last.Next(text))(t)
		out = append(out, entry{next, text})
		last = next
	}
	return out
}

func verify(entries []entry) error {
	var v audit.Verifier
	for _, e := range entries {
		if err := v.Check(e.link, e.text); err != nil {
			return err
		}
	}
	return nil
}

func TestChain_S0_11_accepts_what_it_made(t *testing.T) {
	all := made(t, 5)
	if err := verify(all); err != nil {
		t.Error(err)
	}
	if err := verify(all[2:]); err != nil {
		t.Errorf("retention took the beginning: %v", err)
	}
	var v audit.Verifier
	for _, e := range all {
		must.Do(t, v.Check(e.link, e.text))
	}
	if err := v.End(all[4].link); err != nil {
		t.Error(err)
	}
	if err := v.End(made(t, 6)[5].link); !errors.Is(err, audit.ErrBroken) {
		t.Errorf("the last entry is missing: %v", err)
	}
}

func TestChain_S0_11_finds_every_kind_of_change(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]entry) []entry
		says   string
	}{
		"changed":   {func(e []entry) []entry { e[2].text = []byte(`{"n":2,"by":"bo"}`); return e }, "entry 3 was changed"},
		"removed":   {func(e []entry) []entry { return slices.Delete(e, 2, 3) }, "entry 4 follows entry 2"},
		"swapped":   {func(e []entry) []entry { e[1], e[2] = e[2], e[1]; return e }, "entry 3 follows entry 1"},
		"doubled":   {func(e []entry) []entry { return slices.Insert(e, 2, e[1]) }, "entry 2 follows entry 2"},
		"no JSON":   {func(e []entry) []entry { e[4].text = []byte("{"); return e }, "entry 5"},
		"rewritten": {rewritten, "entry 4 names"},
		"no number": {func(e []entry) []entry { return zeroth() }, "cannot be a first one"},
	} {
		t.Run(name, func(t *testing.T) {
			err := verify(c.change(made(t, 5)))
			if !errors.Is(err, audit.ErrBroken) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// rewritten changes an entry and gives it a hash that fits it.
func rewritten(e []entry) []entry {
	e[2].text = []byte(`{"n":2,"by":"bo"}`)
	link, err := e[1].link.Next(e[2].text)
	if err != nil {
		panic(err)
	}
	e[2].link = link
	return e
}

func zeroth() []entry {
	link, err := audit.Link{Seq: -1}.Next([]byte(`{}`))
	if err != nil {
		panic(err)
	}
	return []entry{{link, []byte(`{}`)}}
}
