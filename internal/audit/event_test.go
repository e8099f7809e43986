package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
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

// An object that is chained without being read again has the place that reading it would give.
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

// all is an event with every field.
func all(t *testing.T) Event {
	t.Helper()
	e := Event{Decision: Replayed, Attempt: 3, Place: Place{Operators, Link{Seq: 7, Prev: "sha256:00", Hash: "sha256:01"}}}
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

// What is written member by member is what is read.
func TestRecord_writes_every_member_that_is_read(t *testing.T) {
	want := all(t)
	r := must.Get(want.Record("a", 0))(t)
	strict := json.NewDecoder(strings.NewReader(string(r.Value)))
	strict.DisallowUnknownFields()
	var w wire
	must.Do(t, strict.Decode(&w))
	if v := reflect.ValueOf(w); v.NumField() != strings.Count(string(r.Value), `":`)-4 { // the place has four of its own
		t.Errorf("%d members are read: %s", v.NumField(), r.Value)
	}
	got, err := Parse(r.Value)
	expect.That(t, err == nil && reflect.DeepEqual(got, want), "got  %+v, %v\nwant %+v", got, err, want)
}

func TestChained_S0_11_is_verified_from_what_stands_in_the_topic(t *testing.T) {
	e := all(t)
	var prev Head
	var v Verifier
	for range 3 {
		r, head, err := e.Chained(Orders, prev, "a", 0)
		must.That(t, err == nil, "%v", err)
		written, entry, ok, err := Entry(r.Value)
		must.That(t, err == nil && ok && written == (Place{Orders, head.Link}), "%+v %v %v, want %+v", written, ok, err, head)
		expect.Do(t, v.Check(written.Link, entry))
		prev = head
	}
	expect.Equal(t, v.Last(), prev.Link)
}
