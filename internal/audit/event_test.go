package audit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func full() Event {
	return Event{
		Time: time.Date(2026, 11, 3, 4, 5, 6, 120_000_000, time.UTC), Pipeline: "parcels", RunID: "r1",
		Source: "features/3/42", FeatureID: "P-1", ContentHash: "sha256:ab", Decision: Retried,
		Reason: "transient", Code: "http_unavailable", Class: "retry_backoff", Stage: "enrich", Attempt: 2,
		Due: time.Date(2026, 11, 3, 4, 5, 8, 0, time.UTC), Destination: "features.retry-2s", Message: "503",
	}
}

func TestRecord_refuses_what_the_contract_does_not_know(t *testing.T) {
	for name, breaks := range map[string]func(*Event){
		"unknown decision": func(e *Event) { e.Decision = "thrown_away" },
		"no decision":      func(e *Event) { e.Decision = "" },
		"no time":          func(e *Event) { e.Time = time.Time{} },
	} {
		e := full()
		breaks(&e)
		r, err := e.Record("a", 0)
		expect.That(t, err != nil, "%s: got record %+v, want an error", name, r)
	}
}

func TestRecord_cuts_a_long_message_between_characters(t *testing.T) {
	e := full()
	e.Message = strings.Repeat("a", MaxMessage-1) + "é" + "tail"
	r := must.Get(e.Record("a", 0))(t)
	back := must.Get(Parse(r.Value))(t)
	expect.That(t, len(back.Message) == MaxMessage-1 && utf8.ValidString(back.Message), "message has %d bytes, valid %v", len(back.Message), utf8.ValidString(back.Message))
}

func FuzzParse(f *testing.F) {
	r := must.Get(full().Record("a", 0))(f)
	f.Add(r.Value)
	f.Add([]byte(`{"decision":"delivered","time":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, value []byte) {
		e, err := Parse(value)
		if err != nil {
			return
		}
		must.That(t, e.Decision.Valid(), "accepted decision %q", e.Decision)
		if e.Time.IsZero() || e.Time.Year() > 9999 {
			return
		}
		must.Get(e.Record("a", 0))(t)
	})
}

func object(text, other string, number int64) *Object {
	o := new(Object)
	o.Text("time", text)
	o.SomeText("b", other)
	o.Number("attempt", number)
	o.Text("a_1", text+other)
	o.SomeText("a", other)
	return o
}

// An object that is chained directly has the same place as one that is parsed again.
func FuzzObject(f *testing.F) {
	f.Add("plain", "", int64(0))
	f.Add("<b>&\"\\\u2028\x00\x1f\x7f\t\n\r\b\f/", "é 漢 \U0001F600 \ufffd", int64(-7))
	f.Add("no UTF-8: \xff\xc0\xaf", "\xed\xa0\x80", int64(1)<<53)
	f.Fuzz(func(t *testing.T, text, other string, number int64) {
		number %= 1<<53 + 1
		prev := Link{Seq: 41, Prev: "sha256:00", Hash: "sha256:01"}
		o := object(text, other, number)
		got := prev.NextOf(o)
		entry := bytes.Clone(o.JSON())
		want, err := prev.Next(entry)
		must.That(t, err == nil && got == want, "%+v, %v, want %+v: %s", got, err, want, entry)
	})
}

func TestObject_keeps_the_order_in_which_it_was_written(t *testing.T) {
	o := object("x", "", 3)
	o.Place("chain", Place{Operators, Link{Seq: 2, Prev: "p", Hash: "h"}})
	got, want := string(o.JSON()), `{"time":"x","attempt":3,"a_1":"x","chain":{"of":"operators","seq":2,"prev":"p","hash":"h"}}`
	expect.That(t, got == want, "got  %s\nwant %s", got, want)
	got = string(new(Object).JSON())
	expect.That(t, got == "{}", "nothing was written: %s", got)
	expect.Equal(t, (Link{}).NextOf(new(Object)), linkOf(t, "{}"), "an empty entry")
}

func linkOf(t *testing.T, entry string) Link {
	t.Helper()
	return must.Get(Link{}.Next([]byte(entry)))(t)
}

// all returns an event with every field.
func all(t *testing.T) Event {
	t.Helper()
	e := Event{Decision: Replayed, Attempt: 3, LedgerVersion: 1, Place: Place{Operators, Link{Seq: 7, Prev: "sha256:00", Hash: "sha256:01"}}}
	e.Time, e.Due = time.Date(2026, 11, 3, 4, 5, 6, 7e6, time.UTC), time.Date(2026, 11, 3, 4, 6, 0, 0, time.UTC)
	e.LastOffset = new(int64)
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String && f.String() == "" {
			f.SetString("<" + v.Type().Field(i).Name + "> & \"é\"")
		}
		name := v.Type().Field(i).Name
		must.That(t, !v.Field(i).IsZero() || name == "Key", "this test does not set %s", name)
	}
	return e
}

// A member-by-member encoding is decoded to the same event.
func TestRecord_writes_every_member_that_is_read(t *testing.T) {
	want := all(t)
	r := must.Get(want.Record("a", 0))(t)
	got, err := Parse(r.Value)
	expect.That(t, err == nil && reflect.DeepEqual(got, want), "got  %+v, %v\nwant %+v", got, err, want)
}

func TestChained_S0_11_is_verified_from_what_stands_in_the_topic(t *testing.T) {
	e := all(t)
	var prev Head
	check := NewCheck(Orders, 0, nil, nil)
	for range 3 {
		r, head, err := e.Chained(Orders, prev, "a", 0)
		must.Do(t, err)
		written, entry, ok, err := Entry(r.Value)
		must.That(t, err == nil && ok && written == (Place{Orders, head.Link}), "%+v %v %v, want %+v", written, ok, err, head)
		check.Add(written.Link, entry)
		prev = head
	}
	report := check.End(&prev, Kept{})
	expect.That(t, report.Fault == "" && report.Entries == 3 && report.Head.Seq == 3, "%+v", report)
}

type entry struct {
	link Link
	text []byte
}

func made(t *testing.T, n int) []entry {
	t.Helper()
	var out []entry
	var last Link
	for i := range n {
		text := fmt.Appendf(nil, `{"n":%d,"by":"ana"}`, i)
		next := must.Get(last.Next(text))(t)
		out = append(out, entry{next, text})
		last = next
	}
	return out
}

// rewritten changes an entry and gives it a matching hash.
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
	link, err := Link{Seq: -1}.Next([]byte(`{}`))
	if err != nil {
		panic(err)
	}
	return []entry{{link, []byte(`{}`)}}
}

const year = 365 * 24 * time.Hour

// chained is the evidence about a chain: its entries, its head, and the retention of its topic.
type chained struct {
	entries []entry
	head    *Head
	since   *Link
	kept    Kept
}

// whole returns a chain of n entries, an hour old, in a topic that keeps records for a year and has lost everything
// before the chain.
func whole(t *testing.T, n int) *chained {
	entries := made(t, n)
	now := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	head := Head{Link: entries[n-1].link, At: now.Add(-time.Hour).Format(time.RFC3339)}
	return &chained{entries: entries, head: &head, kept: Kept{Begins: 7, Retention: year, ReadAt: now}}
}

func (c *chained) report() Report {
	check := NewCheck(Orders, 1, c.head, c.since)
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
		"unchanged":                                                 {func(*chained) {}, "", ""},
		"retention deleted a part":                                  {func(c *chained) { c.entries = c.entries[2:] }, "", "it begins with entry 3;"},
		"retention deleted all":                                     {func(c *chained) { c.entries, c.head.At = nil, "2020-01-01T00:00:00Z" }, "", "all of its 4 entries were deleted"},
		"retention by size":                                         {func(c *chained) { c.entries, c.kept.Retention = nil, 0 }, "", "all of its 4 entries were deleted"},
		"all entries missing in a complete partition":               {func(c *chained) { c.entries, c.kept.Begins = nil, 0 }, "entries 1 to 4 are missing", ""},
		"some entries missing in a complete partition":              {func(c *chained) { c.entries, c.kept.Begins = c.entries[2:], 0 }, "entries 1 to 2 are missing", ""},
		"entries missing despite unlimited retention":               {func(c *chained) { c.entries, c.kept.Retention = c.entries[2:], -1 }, "keeps its records indefinitely", ""},
		"all entries missing before retention":                      {func(c *chained) { c.entries = nil }, "a person deleted them", ""},
		"an entry is changed":                                       {func(c *chained) { c.entries[1].text = []byte(`{"n":9}`) }, "entry 2 was changed", ""},
		"an entry is removed":                                       {func(c *chained) { c.entries = slices.Delete(c.entries, 1, 2) }, "entry 3 follows entry 1", ""},
		"two entries are swapped":                                   {func(c *chained) { c.entries[1], c.entries[2] = c.entries[2], c.entries[1] }, "entry 3 follows entry 1", ""},
		"an entry is repeated":                                      {func(c *chained) { c.entries = slices.Insert(c.entries, 2, c.entries[1]) }, "entry 2 follows entry 2", ""},
		"an entry is not JSON":                                      {func(c *chained) { c.entries[3].text = []byte("{") }, "entry 4", ""},
		"an entry is rewritten with a matching hash":                {func(c *chained) { c.entries = rewritten(c.entries) }, "entry 4 has", ""},
		"the first entry has no number":                             {func(c *chained) { *c = chained{entries: zeroth()} }, "cannot be a first one", ""},
		"the last entry is missing":                                 {func(c *chained) { c.entries = c.entries[:3] }, "its head is entry 4", ""},
		"an entry is added":                                         {func(c *chained) { c.head.Link = c.entries[2].link }, "its head is entry 3", ""},
		"the head is missing":                                       {func(c *chained) { c.head = nil }, "it has 4 entries but no head", ""},
		"the head has another hash":                                 {func(c *chained) { c.head.Hash = "sha256:00" }, "entry 4 has the hash", ""},
		"no entries and no head":                                    {func(c *chained) { *c = chained{} }, "", ""},
		"continues an earlier report":                               {func(c *chained) { c.since = &c.entries[1].link }, "", ""},
		"equals an earlier report":                                  {func(c *chained) { c.since = &c.entries[3].link }, "", ""},
		"continues an earlier report, and retention deleted a part": {func(c *chained) { c.since, c.entries = &c.entries[1].link, c.entries[2:] }, "", "it begins with entry 3;"},
		"shorter than an earlier report":                            {func(c *chained) { c.since = &Link{Seq: 9, Hash: "sha256:00"} }, "it ends with entry 4 now, but had 9 entries before", ""},
		"differs from an earlier report":                            {func(c *chained) { c.since = &Link{Seq: 2, Hash: "sha256:00"} }, "entry 2 has the hash", ""},
		"differs from an earlier report after retention":            {func(c *chained) { c.since, c.entries = &Link{Seq: 2, Hash: "sha256:00"}, c.entries[2:] }, "entry 2 has the hash", ""},
		"its head differs from an earlier report":                   {func(c *chained) { c.since, c.entries = &Link{Seq: 4, Hash: "sha256:00"}, nil }, "entry 4 has the hash", ""},
		"missing since an earlier report":                           {func(c *chained) { *c = chained{since: &c.entries[1].link} }, "it had 2 entries before and has none now", ""},
	} {
		t.Run(name, func(t *testing.T) {
			chain := whole(t, 4)
			c.change(chain)
			r := chain.report()
			expect.That(t, (r.Fault == "") == (c.fault == "") && strings.Contains(r.Fault, c.fault) && errors.Is(r.Err(), ErrBroken) == (c.fault != ""), "fault %q, want %q", r.Fault, c.fault)
			expect.That(t, r.Fault != "" || (r.Gone == "") == (c.gone == "") && strings.HasPrefix(r.Gone, c.gone), "gone %q, want %q", r.Gone, c.gone)
		})
	}
}

// Entries that are added while the audit topic is read are not a fault: the head that is read afterwards belongs to
// the last entry, or to a later one.
func TestCheck_S0_11_entriesMadeMeanwhile(t *testing.T) {
	c := whole(t, 4)
	for seen := range 4 {
		for before := range seen + 2 {
			var head *Head
			if before > 0 {
				head = &Head{Link: c.entries[before-1].link}
			}
			check := NewCheck(Operators, 0, head, nil)
			for _, e := range c.entries[:seen+1] {
				check.Add(e.link, e.text)
			}
			expect.That(t, check.Behind() == (before <= seen), "%d entries behind head %d: %v", seen+1, before, check.Behind())
			r := check.End(c.head, c.kept)
			expect.That(t, r.Fault == "" && r.Gone == "", "%d entries, head %d and then 4: %+v", seen+1, before, r)
		}
	}
}
