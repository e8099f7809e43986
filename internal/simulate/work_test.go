package simulate

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What is too much is refused at once, or as soon as it shows, and the message says what to change.
func TestRun_S0_12_whatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	s, err := ParseScenario("s.yaml", []byte("rate: 1000000\nduration: 24h"), sys)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), sys, s)
	if tooMuch := new(TooMuchError); !errors.As(err, &tooMuch) || !strings.Contains(err.Error(), "8.64e+10 are to come; lower duration, or simulate one instance") {
		t.Error(err)
	}
}

// A run stops when its budget is spent, and says how far it came: an outage outlasts everything, and the breakers of a fleet
// probe all the time.
func TestRun_stopsWithItsBudget(t *testing.T) {
	t.Parallel()
	sys := system(t, guarded)
	s, err := ParseScenario("s.yaml", []byte("rate: 20\nduration: 10m\ninstances: 200\nproviders: [{name: place, outages: [{from: 0s, for: 48h}]}]"), sys)
	if err != nil {
		t.Fatal(err)
	}
	x := newSimulation(newWorld(sys, s))
	_, err = x.run(t.Context(), 10_000)
	if tooMuch := new(TooMuchError); !errors.As(err, &tooMuch) || !strings.Contains(err.Error(), "10000 events and attempts have been played") || x.work > 11_000 {
		t.Errorf("%d pieces of work, %v", x.work, err)
	}
}

// Points that become one keep the most that waited, the mean of the requests and the sum of the dead.
func TestRecorder_halveKeepsWhatAPointSays(t *testing.T) {
	t.Parallel()
	r := &recorder{slot: time.Second}
	for i := range 4 {
		n := float64(i)
		r.series = append(r.series, Point{At: Seconds(n), Waiting: []float64{n}, Requests: []float64{n}, Lag: 10 - n, Dead: 1})
	}
	r.halve()
	if len(r.series) != 2 || r.slot != 2*time.Second {
		t.Fatalf("%d points of %v", len(r.series), r.slot)
	}
	if p := r.series[1]; p.At != 2 || p.Waiting[0] != 3 || p.Requests[0] != 2.5 || p.Lag != 8 || p.Dead != 2 {
		t.Errorf("%+v", p)
	}
}

func TestDelays_quantiles(t *testing.T) {
	t.Parallel()
	d := delays{}
	for n := range 100 {
		d.add(time.Duration(n) * time.Second)
	}
	for share, want := range map[float64]time.Duration{0: 0, 0.5: 49 * time.Second, 0.99: 98 * time.Second, 1: 99 * time.Second} {
		if got := d.quantile(share); got != want {
			t.Errorf("%v: %v, want %v", share, got, want)
		}
	}
	if got := (delays{}).quantile(1); got != 0 {
		t.Errorf("nothing is late by %v", got)
	}
}
