package simulate

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/switchback-geo/switchback/internal/config"
)

// The model of a breaker does what the library does that the remote steps use, over long random histories.
func TestCircuit_S4_5_isTheLibrarysBreaker(t *testing.T) {
	for name, rule := range map[string]config.Breaker{
		"S4-5":         {Failures: 5, Window: config.Duration(time.Minute), Cooldown: config.Duration(30 * time.Second), Successes: 2},
		"S4-5 by rate": {FailureRate: 0.6, MinRequests: 8, Window: config.Duration(time.Minute), Cooldown: config.Duration(10 * time.Second), Successes: 1},
		"S3-5":         {Failures: 3, Window: config.Duration(5 * time.Minute), Cooldown: config.Duration(5 * time.Minute), Successes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				builder := circuitbreaker.NewBuilder[any]().WithSuccessThreshold(uint(rule.Successes)).WithDelay(rule.Cooldown.Std())
				if rule.FailureRate > 0 {
					builder = builder.WithFailureRateThreshold(rule.FailureRate, uint(rule.MinRequests), rule.Window.Std())
				} else {
					builder = builder.WithFailureThresholdPeriod(uint(rule.Failures), rule.Window.Std())
				}
				library := builder.Build()
				model, random, began := &circuit{rule: &rule}, rand.New(rand.NewPCG(7, 7)), time.Now()
				opened := 0
				for range 5000 {
					time.Sleep(time.Duration(random.ExpFloat64() * float64(rule.Window.Std()) / 10)) //nolint:forbidigo // the time of a bubble
					now := time.Since(began)
					until, held := model.held(now)
					if library.IsClosed() == model.open || held != (library.RemainingDelay() > 0) || held && until-now != library.RemainingDelay() {
						t.Fatalf("after %v: the library is %v for %v, the model open %v until %v", now, library.State(), library.RemainingDelay(), model.open, until-now)
					}
					if held {
						continue
					}
					before, probe := model.enter()
					if probe {
						library.HalfOpen()
					}
					down := random.Float64() < 0.5
					if down {
						library.RecordFailure()
					} else {
						library.RecordSuccess()
					}
					model.leave(now, before, probe, down)
					opened = model.opened
				}
				if opened < 100 {
					t.Errorf("opened %d times only: the history says too little", opened)
				}
			})
		})
	}
}

func TestBucket_letsThroughItsRateAndItsBurst(t *testing.T) {
	b := newBucket(&RateLimit{PerSecond: 10, Burst: 5})
	for _, c := range []struct {
		at    time.Duration
		asked float64
		want  float64
	}{{0, 8, 5}, {0, 1, 0}, {100 * time.Millisecond, 3, 1}, {time.Hour, 100, 5}, {time.Hour + time.Second/2, 4, 4}} {
		if got := b.take(c.at, c.asked); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%v: %v of %v got through, want %v", c.at, got, c.asked, c.want)
		}
	}
	free := newBucket(nil)
	if free.take(0, 1e9) != 1e9 || !free.takeOne(0) {
		t.Error("no limit must limit nothing")
	}
}
