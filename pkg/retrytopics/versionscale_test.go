package retrytopics_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// S0-6: versions that are read from another property than before say nothing about those before. What comes behind them in the
// source takes effect, and is not superseded for ever by a number of another kind.
func TestEngine_S0_6_anotherPropertyStartsAgain(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, time.Hour} {
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			f := newForcing(t, retrytopics.OrderLatestWins, true)
			f.cfg.Dedupe.Window = window
			f.cfg.Ordering.Versions.Of = "properties.updated"
			f.sends("k/1000000")
			f.want("k/1000000 delivered")
			f.cfg.Ordering.Versions.Of = "properties.revision"
			f.sends("k/3", "k/2")
			f.want("k/3 delivered", "k/2 superseded")
			f.sends("k/4", "k/1") // and over a restart
			f.want("k/4 delivered", "k/1 superseded")
			f.cfg.Ordering.Versioned = false // the source offset
			f.handlesWithoutVersions()
			f.sends("k/2", "k/1")
			f.want("k/2 delivered", "k/1 delivered")
		})
	}
}

// What waited or died under the property before is older than what came behind it in the source.
func TestEngine_S0_6_aLetterOfAnotherPropertyIsHeldToItsPlace(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.cfg.Ordering.Versions.Of = "properties.updated"
	f.fail["k/7 1"] = badRow
	f.sends("k/7", "k/5")
	f.want("k/7 dead_lettered", "k/5 delivered")
	delete(f.fail, "k/7 1")
	f.cfg.Ordering.Versions.Of = "properties.revision"
	f.replays(false)
	f.want("k/7 superseded")
	f.sends("k/1", "k/0")
	f.want("k/1 delivered", "k/0 superseded")
}

// A property that orders the events from now on: what took effect by its offset is older than what comes behind it, also where
// versions are negative.
func TestEngine_S0_6_aPropertyThatIsNamedLater(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	handle := f.cfg.Handler
	f.cfg.Ordering.Versioned = false
	f.handlesWithoutVersions()
	f.sends("k/9")
	f.cfg.Ordering.Versioned, f.cfg.Handler = true, handle
	f.sends("k/-5", "k/-6")
	f.produce(&kgo.Record{Key: []byte("k")})
	f.drain(f.engine(f.cfg))
	f.sends("k/-7")
	f.want("k/9 delivered", "k/-5 delivered", "k/-6 superseded", " delivered", "k/-7 superseded")
}

func (f *forcing) handlesWithoutVersions() {
	handle := f.cfg.Handler
	f.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := handle(ctx, r)
		result.Version = nil
		return result, err
	}
}
