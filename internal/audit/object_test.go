package audit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Key" {
			t.Fatalf("this test does not set %s", name)
		}
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
	if got, err := Parse(r.Value); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestChained_S0_11_is_verified_from_what_stands_in_the_topic(t *testing.T) {
	e := all(t)
	var prev Head
	var v Verifier
	for range 3 {
		r, head, err := e.Chained(Orders, prev, "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		written, entry, ok, err := Entry(r.Value)
		if err != nil || !ok || written != (Place{Orders, head.Link}) {
			t.Fatalf("%+v %v %v, want %+v", written, ok, err, head)
		}
		if err := v.Check(written.Link, entry); err != nil {
			t.Error(err)
		}
		prev = head
	}
	if err := v.End(prev.Link); err != nil {
		t.Error(err)
	}
}
