package ramp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestWave_S2_6_grows_from_the_canary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ramp ramp.Ramp
		want []int // 0 is all that is left
	}{
		"no ramp":         {ramp.Ramp{}, []int{0}},
		"canary, all":     {ramp.Ramp{Canary: 5}, []int{5, 0}},
		"canary and ramp": {ramp.Ramp{Canary: 5, Factor: 10}, []int{5, 50, 500, 5000}},
		"slow ramp":       {ramp.Ramp{Canary: 1, Factor: 1}, []int{1, 1, 1}},
		"huge":            {ramp.Ramp{Canary: 1_000_000, Factor: 1e6}, []int{1_000_000, 1_000_000_000, 1_000_000_000}},
	} {
		before := 0
		for i, want := range c.want {
			size, ok := c.ramp.Wave(before)
			expect.That(t, ok == (want > 0) && size == want, "%s: wave %d has %d dead letters (%v), want %d", name, i+1, size, ok, want)
			before = size
		}
	}
}

func TestJudge_S2_6_stops_as_soon_as_the_limit_is_passed(t *testing.T) {
	t.Parallel()
	two := ramp.Ramp{MaxFailed: 0.02, Gated: true}
	for _, c := range []struct {
		ramp                   ramp.Ramp
		size, finished, failed int
		want                   ramp.Gate
	}{
		{two, 100, 0, 0, ramp.Wait},
		{two, 100, 50, 2, ramp.Wait},
		{two, 100, 50, 3, ramp.Stop},
		{two, 100, 100, 2, ramp.Go},
		{two, 100, 100, 3, ramp.Stop},
		{ramp.Ramp{Canary: 5}, 5, 1, 1, ramp.Stop},
		{ramp.Ramp{Canary: 5}, 5, 5, 0, ramp.Go},
		{ramp.Ramp{MaxFailed: 1}, 5, 5, 5, ramp.Go},
		{two, 0, 0, 0, ramp.Go},
	} {
		expect.Equal(t, c.ramp.Judge(c.size, c.finished, c.failed), c.want, c.ramp, c.finished, "of", c.size, "finished", c.failed, "failed")
	}
}

func TestCheck_refuses_what_cannot_be(t *testing.T) {
	t.Parallel()
	for _, r := range []ramp.Ramp{{Canary: -1}, {Factor: 10}, {Canary: 1, Factor: 0.5}, {MaxFailed: 1.1}, {MaxFailed: -0.1}, {Canary: 1, Factor: 2e6}} {
		err := r.Check()
		expect.That(t, errors.Is(err, ramp.ErrRamp), "%+v: %v", r, err)
	}
	expect.Do(t, (ramp.Ramp{Canary: 5, Factor: 10, MaxFailed: 0.02}).Check())
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		read func(string) (float64, error)
		text string
		want float64 // -1 is refused
	}{
		{"share", ramp.ParseShare, "2%", 0.02}, {"share", ramp.ParseShare, "0.5", 0.5}, {"share", ramp.ParseShare, "100 %", 1},
		{"share", ramp.ParseShare, "101%", -1}, {"share", ramp.ParseShare, "-1%", -1}, {"share", ramp.ParseShare, "NaN", -1}, {"share", ramp.ParseShare, "", -1},
		{"factor", ramp.ParseFactor, "10x", 10}, {"factor", ramp.ParseFactor, "1.5", 1.5}, {"factor", ramp.ParseFactor, "0x", -1}, {"factor", ramp.ParseFactor, "Inf", -1},
		{"rate", ramp.ParseRate, "500/s", 500}, {"rate", ramp.ParseRate, "30/m", 0.5}, {"rate", ramp.ParseRate, "3600/h", 1}, {"rate", ramp.ParseRate, "7", 7},
		{"rate", ramp.ParseRate, "0/s", -1}, {"rate", ramp.ParseRate, "5/d", -1}, {"rate", ramp.ParseRate, "fast", -1},
	} {
		got, err := c.read(c.text)
		if c.want < 0 {
			expect.That(t, errors.Is(err, ramp.ErrRamp), "%s %q: %v, %v", c.name, c.text, got, err)
			continue
		}
		expect.That(t, err == nil && got >= c.want*0.999 && got <= c.want*1.001, "%s %q: %v, %v, want %v", c.name, c.text, got, err, c.want)
	}
}

func TestPace_keeps_the_rate_and_saves_nothing_up(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	p := ramp.NewPace(100)
	expect.Equal(t, p.Batch(500), 25, "the batch")
	w := p.Wait(now, 50)
	expect.That(t, w == 0, "the first waits %s", w)
	w = p.Wait(now, 50)
	expect.That(t, w == 500*time.Millisecond, "the second waits %s", w)
	w = p.Wait(now.Add(time.Hour), 100)
	expect.That(t, w == 0, "after a pause: %s", w)
	w = p.Wait(now.Add(time.Hour), 1)
	expect.That(t, w == time.Second, "nothing is saved up: %s", w)
	var free ramp.Pace
	expect.That(t, free.Wait(now, 1e6) == 0 && free.Batch(500) == 500, "the zero Pace keeps a rate")
	slow := ramp.NewPace(0.01)
	expect.That(t, slow.Batch(500) == 1, "a slow rate has no batch")
}
