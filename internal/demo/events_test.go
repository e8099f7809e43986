package demo

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func collect(t *testing.T, n int) []event {
	t.Helper()
	var all []event
	for e, err := range events(n) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func versionOf(t *testing.T, e event) int64 {
	t.Helper()
	var f struct {
		ID         string
		Properties struct{ Updated int64 }
	}
	if err := json.Unmarshal(e.value, &f); err != nil {
		t.Fatalf("%s: %v", e.key, err)
	}
	if f.ID != e.key {
		t.Errorf("key %s, feature %s", e.key, f.ID)
	}
	return f.Properties.Updated
}

func TestEvents_each_real_feature_once_then_newer_versions(t *testing.T) {
	all := collect(t, 2*RealEvents+10)
	if len(all) != 2*RealEvents+10 {
		t.Fatalf("%d events, want %d", len(all), 2*RealEvents+10)
	}
	first := map[string]event{}
	for _, e := range all[:RealEvents] {
		first[e.key] = e
	}
	if len(first) != RealEvents {
		t.Fatalf("%d different keys in the first round, want %d", len(first), RealEvents)
	}
	for i, e := range all[RealEvents:] {
		was, ok := first[e.key]
		if !ok {
			t.Fatalf("event %d: key %s is new in a later round", RealEvents+i, e.key)
		}
		if bytes.Equal(was.value, e.value) || versionOf(t, e) <= versionOf(t, was) {
			t.Fatalf("event %d: %s is not a newer version of itself", RealEvents+i, e.key)
		}
	}
	if a, b := all[RealEvents], all[2*RealEvents]; a.key != b.key || versionOf(t, b) <= versionOf(t, a) {
		t.Error("the third round is not newer than the second")
	}
}

func TestEvents_kinds_are_mixed_from_the_start(t *testing.T) {
	quakes := 0
	for _, e := range collect(t, 100) {
		if bytes.Contains(e.value, []byte(`"Point"`)) {
			quakes++
		}
	}
	if quakes < 30 || quakes > 40 {
		t.Errorf("%d earthquakes among the first 100 events, want their share of a third", quakes)
	}
}

func TestEvents_none(t *testing.T) {
	if all := collect(t, 0); len(all) != 0 {
		t.Errorf("%d events, want none", len(all))
	}
}

func TestPace(t *testing.T) {
	pace := Pace{Burst: 3 * time.Second, Share: 0.6, Spread: 18 * time.Second}
	for _, c := range []struct {
		pace Pace
		i, n int
		want time.Duration
	}{
		{pace, 0, 101, 0},
		{pace, 30, 101, 1500 * time.Millisecond},
		{pace, 60, 101, 3 * time.Second},
		{pace, 80, 101, 10500 * time.Millisecond},
		{pace, 100, 101, 18 * time.Second},
		{pace, 0, 1, 0},
		{Pace{}, 50, 101, 0},
		{Pace{Spread: time.Second}, 50, 101, 500 * time.Millisecond},
		{Pace{Burst: time.Second, Share: 1, Spread: time.Second}, 50, 101, 500 * time.Millisecond},
	} {
		if got := c.pace.at(c.i, c.n); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("%+v: event %d of %d at %v, want %v", c.pace, c.i, c.n, got, c.want)
		}
	}
}
