package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
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
	expect.Do(t, verify(all))
	expect.Do(t, verify(all[2:]), "retention took the beginning")
	var v audit.Verifier
	for _, e := range all {
		must.Do(t, v.Check(e.link, e.text))
	}
	expect.Equal(t, v.Last(), all[4].link)
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
			expect.That(t, errors.Is(err, audit.ErrBroken) && strings.Contains(err.Error(), c.says), "got %v, want %q", err, c.says)
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

const year = 365 * 24 * time.Hour

// chained is what is there of a chain: its entries, its head, and what its topic keeps.
type chained struct {
	entries []entry
	head    *audit.Head
	since   *audit.Link
	kept    audit.Kept
}

// whole is a chain of some entries, of an hour ago, in a topic that keeps a year and has lost what was before it.
func whole(t *testing.T, n int) *chained {
	entries := made(t, n)
	now := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	head := audit.Head{Link: entries[n-1].link, At: now.Add(-time.Hour).Format(time.RFC3339)}
	return &chained{entries: entries, head: &head, kept: audit.Kept{Begins: 7, Retention: year, ReadAt: now}}
}

func (c *chained) report() audit.Report {
	check := audit.NewCheck(audit.Orders, 1, c.head, c.since)
	for _, e := range c.entries {
		check.Add(e.link, e.text)
	}
	return check.End(c.head, c.kept)
}

func TestCheck_S0_11_S3_8_findsWhatDoesNotHold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*chained)
		fault  string
		gone   string
	}{
		"as it is":               {func(*chained) {}, "", ""},
		"retention took a part":  {func(c *chained) { c.entries = c.entries[2:] }, "", "it begins with entry 3;"},
		"retention took all":     {func(c *chained) { c.entries, c.head.At = nil, "2020-01-01T00:00:00Z" }, "", "all of its 4 entries are gone"},
		"retention goes by size": {func(c *chained) { c.entries, c.kept.Retention = nil, 0 }, "", "all of its 4 entries are gone"},
		"all of a partition from which nothing was deleted": {func(c *chained) { c.entries, c.kept.Begins = nil, 0 }, "entries 1 to 4 are not there", ""},
		"a part of such a one":                              {func(c *chained) { c.entries, c.kept.Begins = c.entries[2:], 0 }, "entries 1 to 2 are not there", ""},
		"a part of what is kept for ever":                   {func(c *chained) { c.entries, c.kept.Retention = c.entries[2:], -1 }, "keeps its records for ever", ""},
		"all of it, younger than retention":                 {func(c *chained) { c.entries = nil }, "somebody deleted them", ""},
		"an entry is changed":                               {func(c *chained) { c.entries[1].text = []byte(`{"n":9}`) }, "entry 2 was changed", ""},
		"an entry is taken out":                             {func(c *chained) { c.entries = slices.Delete(c.entries, 1, 2) }, "entry 3 follows entry 1", ""},
		"the last one is gone":                              {func(c *chained) { c.entries = c.entries[:3] }, "its head is entry 4", ""},
		"an entry is added":                                 {func(c *chained) { c.head.Link = c.entries[2].link }, "its head is entry 3", ""},
		"the head is gone":                                  {func(c *chained) { c.head = nil }, "there are 4 entries and no head", ""},
		"the head is another one":                           {func(c *chained) { c.head.Hash = "sha256:00" }, "entry 4 has the hash", ""},
		"nothing was ever there":                            {func(c *chained) { *c = chained{} }, "", ""},
		"it goes on from before":                            {func(c *chained) { c.since = &c.entries[1].link }, "", ""},
		"the same as before":                                {func(c *chained) { c.since = &c.entries[3].link }, "", ""},
		"it goes on, and retention took all":                {func(c *chained) { c.since, c.entries = &c.entries[1].link, c.entries[2:] }, "", "it begins with entry 3;"},
		"it was longer before":                              {func(c *chained) { c.since = &audit.Link{Seq: 9, Hash: "sha256:00"} }, "it ends with entry 4 now, and had 9 before", ""},
		"it was another one":                                {func(c *chained) { c.since = &audit.Link{Seq: 2, Hash: "sha256:00"} }, "entry 2 has the hash", ""},
		"another one, of which that is gone":                {func(c *chained) { c.since, c.entries = &audit.Link{Seq: 2, Hash: "sha256:00"}, c.entries[2:] }, "entry 2 has the hash", ""},
		"another one that ends there":                       {func(c *chained) { c.since, c.entries = &audit.Link{Seq: 4, Hash: "sha256:00"}, nil }, "entry 4 has the hash", ""},
		"it was there before":                               {func(c *chained) { *c = chained{since: &c.entries[1].link} }, "it had 2 entries before, and is gone now", ""},
	} {
		t.Run(name, func(t *testing.T) {
			chain := whole(t, 4)
			c.change(chain)
			r := chain.report()
			expect.That(t, (r.Fault == "") == (c.fault == "") && strings.Contains(r.Fault, c.fault) && errors.Is(r.Err(), audit.ErrBroken) == (c.fault != ""), "fault %q, want %q", r.Fault, c.fault)
			expect.That(t, r.Fault != "" || (r.Gone == "") == (c.gone == "") && strings.HasPrefix(r.Gone, c.gone), "gone %q, want %q", r.Gone, c.gone)
		})
	}
}

// What is written while the trail is read is no fault: the head that is read afterwards is that of the last entry, or of a later one.
func TestCheck_S0_11_entriesMadeMeanwhile(t *testing.T) {
	c := whole(t, 4)
	for seen := range 4 {
		for before := range seen + 2 {
			var head *audit.Head
			if before > 0 {
				head = &audit.Head{Link: c.entries[before-1].link}
			}
			check := audit.NewCheck(audit.Operators, 0, head, nil)
			for _, e := range c.entries[:seen+1] {
				check.Add(e.link, e.text)
			}
			expect.That(t, check.Behind() == (before <= seen), "%d entries behind head %d: %v", seen+1, before, check.Behind())
			r := check.End(c.head, c.kept)
			expect.That(t, r.Fault == "" && r.Gone == "", "%d entries, head %d and then 4: %+v", seen+1, before, r)
		}
	}
}
