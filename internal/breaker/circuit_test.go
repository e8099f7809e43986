package breaker

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// standard, patient and steady are the presets.
func standard() config.Breaker {
	return config.Breaker{Failures: 5, Window: config.Duration(time.Minute), Cooldown: config.Duration(30 * time.Second), Successes: 2}
}

func patient() config.Breaker {
	return config.Breaker{Failures: 3, Window: config.Duration(5 * time.Minute), Cooldown: config.Duration(5 * time.Minute), Successes: 1}
}

func steady() config.Breaker {
	rule := standard()
	rule.FailureRate, rule.Among = 0.5, 20
	return rule
}

// S4-5, S3-5: over long random histories, the breakers behave like those of a library.
func TestBreaker_S4_5_S3_5_doesWhatTheLibraryDoes(t *testing.T) {
	for name, rule := range map[string]config.Breaker{"S4-5": standard(), "S3-5": patient()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				library := circuitbreaker.NewBuilder[any]().WithSuccessThreshold(uint(rule.Successes)).WithDelay(rule.Cooldown.Std()).
					WithFailureThresholdPeriod(uint(rule.Failures), rule.Window.Std()).Build()
				b, random, began := NewCircuit(rule), rand.New(rand.NewPCG(7, 7)), time.Now()
				for range 5000 {
					time.Sleep(time.Duration(random.ExpFloat64() * float64(rule.Window.Std()) / 10)) //nolint:forbidigo // the time of a bubble
					now := time.Since(began)
					wait, defers := b.Defers(now)
					if library.IsClosed() == b.IsOpen() || defers != (library.RemainingDelay() > 0) || defers && wait != library.RemainingDelay() {
						t.Fatalf("after %v: the library is %v for %v, this one open %v for %v", now, library.State(), library.RemainingDelay(), b.IsOpen(), wait)
					}
					if defers {
						continue
					}
					pass, end := b.Enter(), Success
					if pass.Probe {
						library.HalfOpen()
					}
					if random.Float64() < 0.5 {
						end = Failure
						library.RecordFailure()
					} else {
						library.RecordSuccess()
					}
					b.Leave(now, pass, end)
				}
				expect.That(t, b.Opened() >= 100, "opened only %d times, too few for a comparison", b.Opened())
			})
		})
	}
}

// ask sends requests one after another and returns how many it took to open the breaker, or 0 if it stayed closed.
func ask(b *Circuit, from, every time.Duration, n int, fails func(int) bool) int {
	for i := range n {
		now, end := from+time.Duration(i)*every, Success
		if fails(i) {
			end = Failure
		}
		if b.Leave(now, b.Enter(), end); b.IsOpen() {
			return i + 1
		}
	}
	return 0
}

func always(int) bool { return true }
func never(int) bool  { return false }

func TestSteady_opens(t *testing.T) {
	flapping := func(i int) bool { return i%2 == 0 }
	for name, c := range map[string]struct {
		good  int // earlier requests
		every time.Duration
		fails func(int) bool
		want  int
	}{
		"at once, when nothing has succeeded yet":                 {0, time.Millisecond, always, 5},
		"at half of the last twenty, in an outage":                {1000, time.Millisecond, always, 10},
		"of a service that flaps, at the fifth failure":           {0, time.Millisecond, flapping, 9},
		"as soon as the successes are older than the window":      {20, 10 * time.Second, always, 5},
		"never, when failures are rarer than the window asks for": {0, 16 * time.Second, always, 0},
		"never, when one of three fails":                          {0, time.Millisecond, func(i int) bool { return i%3 == 2 }, 0},
		"never, at few failures in many consecutive requests":     {1000, time.Millisecond, func(i int) bool { return i%100 < 9 }, 0},
	} {
		b := NewCircuit(steady())
		ask(b, 0, c.every, c.good, never)
		expect.Equal(t, ask(b, time.Duration(c.good)*c.every, c.every, 3000, c.fails), c.want, name, "opened after")
	}
}

// S4-5: a service that answers 999 of 1000 requests is not down, at whatever rate. A number of failures alone would open
// the breaker within seconds.
func TestSteady_S4_5_doesNotOpenForAHealthyServiceThatIsAskedOften(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	rare := func(int) bool { return random.Float64() < 0.001 }
	expect.Equal(t, ask(NewCircuit(steady()), 0, time.Millisecond, 3_600_000, rare), 0, "opened after")
	opened := ask(NewCircuit(standard()), 0, time.Millisecond, 3_600_000, rare)
	expect.That(t, opened != 0 && opened <= 60_000, "by number alone: opened after %d requests", opened)
}

func TestLeave_silenceSaysNothing(t *testing.T) {
	b := NewCircuit(patient())
	for range 10 {
		b.Leave(0, b.Enter(), Ignored)
	}
	requests, _ := b.counted(0)
	expect.That(t, requests == 0 && !b.IsOpen(), "%v requests, open %v", requests, b.IsOpen())
}

func TestRetune_S4_5_anotherRuleCountsFromTheStart(t *testing.T) {
	rule := config.Breaker{Failures: 3, Window: config.Duration(time.Minute), Cooldown: config.Duration(time.Second), Successes: 1}
	b := NewCircuit(rule)
	for range 2 {
		b.Leave(0, b.Enter(), Failure)
	}
	rule.Failures = 2
	b.Retune(rule)
	if b.Leave(0, b.Enter(), Failure); b.IsOpen() {
		t.Error("one failure under the new rule opened it")
	}
	if b.Leave(0, b.Enter(), Failure); !b.IsOpen() {
		t.Error("two failures did not open it")
	}
	b.Retune(rule)
	_, defers := b.Defers(0)
	expect.That(t, defers, "a new rule closed an open breaker")
}

// A request that began before the breaker opened neither closes nor reopens it.
func TestLeave_S4_5_aStragglerHasNoSay(t *testing.T) {
	for _, end := range []Outcome{Success, Failure} {
		b := NewCircuit(patient())
		straggler := b.Enter()
		for range 3 {
			b.Leave(0, b.Enter(), Failure)
		}
		b.Leave(5*time.Minute, straggler, end)
		_, defers := b.Defers(5 * time.Minute)
		expect.That(t, b.IsOpen() && !defers, "after a straggler that ended with %v: open %v, held %v", end, b.IsOpen(), defers)
	}
}
