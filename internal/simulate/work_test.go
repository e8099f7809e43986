package simulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// What no model is made for is refused at once, or as soon as it shows, and the message says what to change.
func TestRun_S0_12_whatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	patientTiers := []string{", tiers: [1s], retry_after_limit: 168h, strategy: fixed, max_delay_seconds: 2"}
	for name, c := range map[string]struct {
		pipeline string
		policy   []string
		text     string
		want     string
	}{
		"more records than are kept":        {place, nil, "model: exact\nrate: 1000000\nduration: 24h", "8.64e+10 are to come; lower rate or duration, or write model: fluid"},
		"more instances than are kept":      {place, nil, "model: exact\nrate: 10\ninstances: 20000", "10000 instances, not 20000; lower instances"},
		"waits far beyond the longest tier": {patient, patientTiers, "rate: 1000000\nproviders: [{name: place, errors: {share: 0.1, retry_after: 168h}}]", "again and again until then; add a longer tier"},
	} {
		t.Run(name, func(t *testing.T) {
			sys := system(t, c.pipeline, c.policy...)
			s, err := ParseScenario("s.yaml", []byte(c.text), sys)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Run(t.Context(), sys, s)
			if tooMuch := new(TooMuchError); !errors.As(err, &tooMuch) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// down is an outage that outlasts everything, of a fleet whose breakers probe all the time.
const down = "rate: 20\nduration: 10m\ninstances: 200\nproviders: [{name: place, outages: [{from: 0s, for: 48h}]}]"

// The exact model stops when its budget is spent, and says how far it came.
func TestExact_stopsWithItsBudget(t *testing.T) {
	t.Parallel()
	sys := system(t, guarded)
	s, err := ParseScenario("s.yaml", []byte(down), sys)
	if err != nil {
		t.Fatal(err)
	}
	x := newExact(newWorld(sys, s))
	_, err = x.run(t.Context(), 10_000)
	if tooMuch := new(TooMuchError); !errors.As(err, &tooMuch) || !strings.Contains(err.Error(), "played 10000 events") || x.work > 11_000 {
		t.Errorf("%d pieces of work, %v", x.work, err)
	}
}

// Nobody has to know beforehand what is too much for the exact model.
func TestRun_autoGoesOverToTheFluidModel(t *testing.T) {
	t.Parallel()
	r := play(t, system(t, guarded), strings.ReplaceAll(down, "instances: 200", "instances: 900"), ModelAuto)
	if r.Model != ModelFluid || math.Abs(float64(r.GaveUp-InSeconds(GiveUp))) > 1 || r.Unfinished < 11_000 {
		t.Errorf("model %s, gave up after %v, %v unfinished", r.Model, r.GaveUp, r.Unfinished)
	}
}

// A short run with short tiers whose backlog stands for a day is played again in longer steps, and keeps few points.
func TestFluid_S0_12_tooMuchWorkIsDoneInLongerSteps(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	sys.Tiers[0].Delay = 200 * time.Millisecond
	text := "rate: 1000000\nduration: 60s\nproviders: [{name: place, latency: 500ms, errors: {share: 0.3}}]"
	w := readyFluid(t, sys, text).w
	r := play(t, sys, text, ModelFluid)
	if finest, longest := InSeconds(stepOf(w)), InSeconds(longestStep(w)); r.Step <= finest || r.Step > longest {
		t.Errorf("steps of %v, want them above %v and up to %v", r.Step, finest, longest)
	}
	if sum := r.Delivered + r.DeadLettered + r.Unfinished; sum < 0.999999*r.Records || sum > 1.000001*r.Records || math.Abs(float64(r.GaveUp-InSeconds(GiveUp))) > 1 {
		t.Errorf("%v of %v records are accounted for; gave up after %v", sum, r.Records, r.GaveUp)
	}
	if len(r.Series) > mostPoints {
		t.Errorf("%d points", len(r.Series))
	}
}

// Where steps are longer than the shortest wait, the report says what that does to it.
func TestNotModelled_saysWhenStepsAreTooLong(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	text := "rate: 1000\nduration: 1000h\nproviders: [{name: place, errors: {share: 0.1}}]"
	if r := play(t, sys, text, ModelFluid); len(r.NotModelled) != 1 || !strings.Contains(r.NotModelled[0], "steps of 18s, and parcels.retry-2s waits for 2s only") {
		t.Errorf("%q", r.NotModelled)
	}
	if r := play(t, sys, strings.ReplaceAll(text, "1000h", "24h"), ModelFluid); len(r.NotModelled) != 0 {
		t.Errorf("a day: %q", r.NotModelled)
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

func TestDelays_quantilesAreTheSameNearAndFar(t *testing.T) {
	t.Parallel()
	for _, unit := range []time.Duration{time.Millisecond, time.Minute} {
		d := newDelays(unit)
		for n := range 100 {
			d.add(1, time.Duration(n*n*n)*2*unit) // the latest of them far
		}
		for _, c := range []struct {
			share float64
			n     int
		}{{0, 0}, {0.5, 49}, {0.99, 98}, {1, 99}} {
			if got, want := d.quantile(c.share), time.Duration(c.n*c.n*c.n)*2*unit; got != want {
				t.Errorf("%v: %v, want %v", c.share, got, want)
			}
		}
		if len(d.far) == 0 || len(d.near) > nearUnits {
			t.Errorf("%d near, %d far", len(d.near), len(d.far))
		}
	}
	if empty := newDelays(time.Second); empty.quantile(1) != 0 {
		t.Error("nothing is late by nothing")
	}
}

func TestAgenda_givesTheNextEventFirst(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var a agenda
	var want, got []int
	for n := range 1000 {
		at := random.IntN(100)
		a.push(event{at: time.Duration(at), number: n})
		want = append(want, at*1000+n)
	}
	for len(a.events) > 0 {
		e := a.pop()
		got = append(got, int(e.at)*1000+e.number)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Error("out of order")
	}
}

func TestQueue_givesWhatWasPutBackFirst(t *testing.T) {
	t.Parallel()
	var q queue
	items := make([]item, 4)
	q.push(&items[2], &items[3])
	q.pushFront(&items[1])
	q.pushFront(&items[0])
	for i := range items {
		if q.len() != 4-i || q.pop() != &items[i] {
			t.Fatalf("item %d is not the next", i)
		}
	}
}
