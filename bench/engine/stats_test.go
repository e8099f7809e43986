package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func TestSummarize(t *testing.T) {
	sample := make([]float64, 100)
	for i := range sample {
		sample[i] = float64(100 - i)
	}
	if got, want := summarize(sample), (summary{N: 100, Min: 1, P50: 50, P99: 99, Max: 100}); got != want {
		t.Errorf("summarize = %+v, want %+v", got, want)
	}
	if got, want := summarize([]float64{7}), (summary{1, 7, 7, 7, 7}); got != want {
		t.Errorf("summarize of one = %+v, want %+v", got, want)
	}
	if got := summarize(nil); got != (summary{}) {
		t.Errorf("summarize of nothing = %+v", got)
	}
	if sample[0] != 100 {
		t.Error("summarize changed its input")
	}
}

func TestMedian_and_spread(t *testing.T) {
	for _, c := range []struct {
		sample []float64
		want   string
	}{
		{[]float64{3, 1, 2}, "1 / 2 / 3"},
		{[]float64{4, 1, 2, 3}, "1 / 2.5 / 4"},
		{[]float64{5}, "5 / 5 / 5"},
	} {
		if got := spread("%v", c.sample); got != c.want {
			t.Errorf("spread(%v) = %s, want %s", c.sample, got, c.want)
		}
	}
	if got := fmt.Sprint(ratios([]float64{1, 6}, []float64{2, 3})); got != "[0.5 2]" {
		t.Errorf("ratios = %s", got)
	}
}

func TestEvent(t *testing.T) {
	sum, seen := 0, map[string]bool{}
	for n := range 1000 {
		key, value := event(n, 100)
		if got, err := numberOf(value); err != nil || got != n {
			t.Fatalf("numberOf(event %d) = %d, %v", n, got, err)
		}
		if seen[string(value)] {
			t.Fatalf("event %d has the value of another", n)
		}
		again, _ := event(n+100, 100)
		if !bytes.Equal(key, again) {
			t.Fatalf("event %d has key %s, event %d has %s", n, key, n+100, again)
		}
		seen[string(value)] = true
		sum += len(value)
	}
	if mean := sum / 1000; mean < 700 || mean > 900 {
		t.Errorf("events have %d bytes on average, want about 800", mean)
	}
	if _, err := numberOf([]byte("{}")); err == nil {
		t.Error("numberOf reads what is no event")
	}
}

func TestFails_share(t *testing.T) {
	n := 0
	for i := range 100_000 {
		if fails(i, 100) {
			n++
		}
	}
	if n < 900 || n > 1100 {
		t.Errorf("%d of 100000 events fail, want about 1000", n)
	}
	if fails(0, 0) {
		t.Error("an event fails though none should")
	}
}

func TestTally(t *testing.T) {
	if err := tally("run", []int{1, 1}); err != nil {
		t.Error(err)
	}
	want := "run: of 3 events 1 are missing in the output and 1 are doubled"
	if err := tally("run", []int{1, 0, 2}); err == nil || err.Error() != want {
		t.Errorf("tally = %v, want %s", err, want)
	}
}

func TestMeter_engine_events(t *testing.T) {
	stopped := 0
	m := newMeter(3, func() { stopped++ })
	m.paced = true
	at := retrytopics.Position{Topic: "in", Offset: 1}
	healthy := &retrytopics.Record{Position: at, Source: at, Attempt: 1, Timestamp: time.Now()}
	delivered := retrytopics.Decision{Outcome: retrytopics.OutcomeDelivered}
	m.events([]*retrytopics.Event{
		{Record: healthy, Decision: delivered},
		{Record: healthy, Decision: retrytopics.Decision{Outcome: retrytopics.OutcomeRetried}},
	})
	retried := *healthy
	retried.Position.Topic, retried.Attempt, retried.Control = "in.retry-2s", 2, &retrytopics.Control{Due: time.Now().Add(-time.Second)}
	idle := retried
	idle.Control = &retrytopics.Control{Due: time.Now().Add(time.Hour)}
	m.events([]*retrytopics.Event{{Record: &retried, Decision: delivered, Lateness: 3 * time.Millisecond}})
	if m.done() || stopped != 0 {
		t.Fatal("done before the third event was finished")
	}
	m.events([]*retrytopics.Event{{Record: &idle, Decision: delivered}})
	r := m.report()
	if !m.done() || stopped != 1 || r.Events != 3 || r.FirstEvents != 1 || r.Healthy.Events != 0 || r.Delay.N != 1 {
		t.Errorf("report = %+v, stopped %d times", r, stopped)
	}
	if r.Retries.Idle != 1 || r.Retries.Start.N != 1 || r.Retries.Start.P50 != 3 || r.Retries.Committed.Min < 1000 {
		t.Errorf("retries = %+v", r.Retries)
	}
}
