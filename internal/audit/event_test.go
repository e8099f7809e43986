package audit

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		t.Run(name, func(t *testing.T) {
			e := full()
			breaks(&e)
			if r, err := e.Record("a", 0); err == nil {
				t.Errorf("got record %s, want an error", r.Value)
			}
		})
	}
}

func TestRecord_cuts_a_long_message_between_characters(t *testing.T) {
	e := full()
	e.Message = strings.Repeat("a", MaxMessage-1) + "é" + "tail"
	r := must.Get(e.Record("a", 0))(t)
	back := must.Get(Parse(r.Value))(t)
	if len(back.Message) != MaxMessage-1 || !utf8.ValidString(back.Message) {
		t.Errorf("message has %d bytes, valid %v", len(back.Message), utf8.ValidString(back.Message))
	}
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
		if !e.Decision.Valid() {
			t.Fatalf("accepted decision %q", e.Decision)
		}
		if e.Time.IsZero() || e.Time.Year() > 9999 {
			return
		}
		if _, err := e.Record("a", 0); err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
	})
}
