package retrytopics_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// deletes puts a tombstone behind what was sent.
func (f *forcing) deletes() *kgo.Record { return &kgo.Record{Key: []byte("k")} }

func event(value string) *kgo.Record { return &kgo.Record{Key: []byte("k"), Value: []byte(value)} }

// A delete counts as newer than every event of its key before it, also than a dead letter with a greater version.
func TestEngine_latestWinsADeadLetterDoesNotUndoADelete(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.fail["k/7 1"] = badRow
	f.produce(event("k/7"), f.deletes())
	f.drain(f.engine(f.cfg))
	delete(f.fail, "k/7 1")
	f.replays(false)
	f.want("k/7 dead_lettered", " delivered", "k/7 superseded")
	f.replays(true)
	f.want("k/7 delivered by force")
}

// A, B, A in strict order: B died, and the second A says again what stands there. B put back is older than that.
func TestEngine_strictARepetitionIsNewerThanALetter(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderStrict, false)
	f.fail["k/B 1"] = badRow
	f.sends("k/A", "k/B", "k/A")
	delete(f.fail, "k/B 1")
	f.replays(false)
	f.want("k/A delivered", "k/B dead_lettered", "k/A duplicate", "k/B superseded")
}

// An event without a version is not compared; but what stands there is its content, so the one before it is a change.
func TestEngine_aChangeWithoutAVersionIsAChange(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.sends("k/5", "k", "k/5", "k/4")
	f.want("k/5 delivered", "k delivered", "k/5 delivered", "k/4 superseded")
}

// A delete of a key of which nothing is known is older than every event behind it, also than one with a negative version: a
// time before 1970 is one.
func TestEngine_whatComesAfterADeleteOfAnUnknownKeyTakesEffect(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.produce(f.deletes(), event("k/-5"), event("k/-6"))
	f.drain(f.engine(f.cfg))
	f.want(" delivered", "k/-5 delivered", "k/-6 superseded")
}

// S0-6: a handler that writes outside Kafka hears the version by which the engine itself judges: of a delete that of the newest
// event, of a forced dead letter its own place.
func TestRecord_S0_6_versionIsTheEnginesOwn(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	var heard []header.Version
	handle := f.cfg.Handler
	f.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		_, text, _ := strings.Cut(string(r.Value), "/")
		n, _ := strconv.ParseInt(text, 10, 64)
		v, ok := r.Version(&n, false)
		expect.That(t, ok, "%s has no version", r.Value)
		heard = append(heard, v)
		return handle(ctx, r)
	}
	f.fail["a/1 1"] = badRow
	f.sends("a/1", "b/5", "c/3")
	f.produce(&kgo.Record{Key: []byte("k")})
	f.drain(f.engine(f.cfg))
	f.replays(true)
	want := []header.Version{{Number: 1, Offset: 0}, {Number: 5, Offset: 1}, {Number: 3, Offset: 2}, {Number: 5, Offset: 3}, {Number: 5, Offset: 4}}
	expect.That(t, slices.Equal(heard, want), "got %v, want %v", heard, want)
	_, ok := (&retrytopics.Record{}).Version(nil, false)
	expect.That(t, !ok, "a record that no engine made has a version")
}

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
