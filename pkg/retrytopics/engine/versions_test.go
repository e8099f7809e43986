package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// deletes sends a tombstone after the given events.
func (f *forcing) deletes() *kgo.Record { return &kgo.Record{Key: []byte("k")} }

func event(value string) *kgo.Record { return &kgo.Record{Key: []byte("k"), Value: []byte(value)} }

// S0-6: a handler that writes outside Kafka gets the version by which the engine judges: for a delete that of the newest
// event, for a forced replay its own position.
func TestRecord_S0_6_versionIsTheEnginesOwn(t *testing.T) {
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
	f.takes(&kgo.Record{Key: []byte("k")})
	f.replays(true)
	want := []header.Version{{Number: 1, Offset: 0}, {Number: 5, Offset: 1}, {Number: 3, Offset: 2}, {Number: 5, Offset: 3}, {Number: 5, Offset: 4}}
	expect.That(t, slices.Equal(heard, want), "got %v, want %v", heard, want)
	_, ok := (&retrytopics.Record{}).Version(nil, false)
	expect.That(t, !ok, "a record that no engine made has a version")
}

// S0-6: versions from another property do not compare with those from before. Events after the change take effect;
// they are not superseded forever by numbers of another kind.
func TestEngine_S0_6_anotherPropertyStartsAgain(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, time.Hour} {
		t.Run(window.String(), func(t *testing.T) {
			f := newForcing(t, retrytopics.OrderLatestWins, true)
			f.cfg.Dedupe.Window = window
			f.cfg.Ordering.Versions.Of = "properties.updated"
			f.sends("k/1000000")
			f.want("k/1000000 delivered")
			f.cfg.Ordering.Versions.Of = "properties.revision"
			f.sends("k/3", "k/2")
			f.want("k/3 delivered", "k/2 superseded")
			f.sends("k/4", "k/1") // and after a restart
			f.want("k/4 delivered", "k/1 superseded")
			f.cfg.Ordering.Versioned = false // the source offset is the version
			f.handlesWithoutVersions()
			f.sends("k/2", "k/1")
			f.want("k/2 delivered", "k/1 delivered")
		})
	}
}

// A record that waited or died under the former property is older than what came after it in the source.
func TestEngine_S0_6_aLetterOfAnotherPropertyIsHeldToItsPlace(t *testing.T) {
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

// From the change on, a property orders the events: what took effect by its offset is older than what comes after it,
// even with negative versions.
func TestEngine_S0_6_aPropertyThatIsNamedLater(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	handle := f.cfg.Handler
	f.cfg.Ordering.Versioned = false
	f.handlesWithoutVersions()
	f.sends("k/9")
	f.cfg.Ordering.Versioned, f.cfg.Handler = true, handle
	f.sends("k/-5", "k/-6")
	f.takes(&kgo.Record{Key: []byte("k")})
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

// windows are dedupe windows that have ended before the next event comes.
func windows() []time.Duration { return []time.Duration{0, time.Nanosecond} }

// S0-6: a version is remembered as long as its key, whatever the dedupe window: over restarts, over deletes, and after
// events that were superseded.
func TestEngine_S0_6_aVersionLivesAsLongAsItsKey(t *testing.T) {
	t.Parallel()
	for _, window := range windows() {
		t.Run(window.String(), func(t *testing.T) {
			f := newForcing(t, retrytopics.OrderLatestWins, true)
			f.cfg.Dedupe.Window = window
			f.sends("k/5", "k/4")
			f.want("k/5 delivered", "k/4 superseded")
			f.sends("k/3") // each time with a new engine
			f.want("k/3 superseded")
			f.sends("k/6", "k/5")
			f.want("k/6 delivered", "k/5 superseded")
			f.takes(f.deletes())
			f.want(" delivered")
			f.sends("k/5", "k/6", "k/5")
			f.want("k/5 superseded", "k/6 delivered", "k/5 superseded") // sent again after the delete, it is newer
		})
	}
}

// An event sent before a delete is older than the delete, however great its version, even if somebody resets the group's
// offsets and it is read again long after it was finished.
func TestEngine_S0_6_whatADeleteCoversStaysDeleted(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.fail["k/7 1"] = unavailable
	f.takes(event("k/5"), event("k/7"), f.deletes())
	f.want("k/5 delivered", "k/7 retried", " delivered", "k/7 superseded")
	delete(f.fail, "k/7 1")
	f.resets(f.cfg.Group, 0)
	f.drain(f.engine(f.cfg))
	f.want("k/5 superseded", "k/7 superseded", " superseded")
}

// S4-14: after the source was re-created the version still decides: an older one is superseded, and an equal one takes
// effect again.
func TestEngine_S0_6_S4_14_versionsOutliveAReCreatedSource(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.sends("k/5", "k/6")
	f.took = nil
	f.recreate(source)
	f.produce(event("k/5"), event("k/6"), event("k/7"), f.deletes(), event("k/6"))
	e := f.engine(f.cfg)
	f.refusesMemory(e, "was deleted and re-created")
	plan := f.adopts(e, retrytopics.MismatchSource)
	expect.That(t, plan.Versions == 1 && plan.Forgotten == 1, "%+v", plan)
	f.drain(e)
	f.want("k/5 superseded", "k/6 delivered", "k/7 delivered", " delivered", "k/6 superseded")
}

// S4-14: the versions are lost together with the state topic. The plan says so before anything is adopted.
func TestEngine_S0_6_S4_14_versionsAreLostWithTheStateTopic(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.sends("k/5")
	f.took = nil
	f.recreate(source + ".state")
	e := f.engine(f.cfg)
	f.refusesMemory(e, "has lost the checkpoint")
	plan := f.adopts(e, retrytopics.MismatchState)
	expect.That(t, plan.Versions == 0, "%+v", plan)
	f.sends("k/4", "k/3")
	f.want("k/4 delivered", "k/3 superseded")
}

// versionsIn returns the versions that the state topic remembers, by the hash of their keys.
func versionsIn(records []*kgo.Record) map[string]string {
	last := map[string]string{}
	for _, r := range records {
		hash, ok := strings.CutPrefix(string(r.Key), "\x00switchback-checkpoint\x00v")
		switch {
		case !ok:
		case r.Value == nil:
			delete(last, hash)
		default:
			last[hash] = string(r.Value)
		}
	}
	return last
}

// S0-6: a partition with more keys than MaxKeys forgets those whose last event is the oldest, in memory and in the state
// topic, and logs it.
func TestEngine_S0_6_forgottenVersionsAreCountedAndLogged(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	var log bytes.Buffer
	f.cfg.Dedupe.Window, f.cfg.Ordering.Versions.MaxKeys = 0, 2
	f.cfg.Limits.Concurrency = 1 // one after another
	f.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	send := func(values ...string) *engine.Engine {
		for _, v := range values {
			k, _, _ := strings.Cut(v, "/")
			f.produce(&kgo.Record{Partition: 0, Key: []byte(k), Value: []byte(v)})
		}
		e := f.engine(f.cfg)
		f.drain(e)
		return e
	}
	f.byPartition()
	e := send("a/5", "b/5", "a/6", "c/5") // b makes room
	got := e.Stats().Versions
	expect.That(t, got.Keys == 2 && got.Forgotten == 1 && got.Bytes != 0, "%+v", got)
	if got := versionsIn(f.read(source + ".state")); len(got) != 2 {
		t.Errorf("the state topic remembers %q", got)
	}
	n := strings.Count(log.String(), "versions are forgotten")
	expect.That(t, n == 1 && strings.Contains(log.String(), "keys=1 max_keys=2"), "it is logged %d times: %s", n, &log)
	f.took = nil
	e = send("a/4", "c/4", "b/4") // after a restart
	f.want("a/4 superseded", "c/4 superseded", "b/4 delivered")
	got = e.Stats().Versions
	expect.That(t, got.Forgotten == 1, "after a restart: %+v", got)
	f.cfg.Ordering.Versions.MaxKeys = 1
	e = send("d/1")
	got = e.Stats().Versions
	expect.That(t, got.Keys == 1 && got.Forgotten == 2 && len(versionsIn(f.read(source+".state"))) == 1, "with a lower limit: %+v", got)
}

// S0-6: a version is written once per key and transaction, however often the key changed in it.
func TestEngine_S0_6_aTransactionWritesTheVersionOfAKeyOnce(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	transactions := 0
	f.cfg.Timing.Commit = 300_000_000
	commit := f.cfg.Hooks.OnCommit
	f.cfg.Hooks.OnCommit = func(es []*retrytopics.Event) { transactions++; commit(es) }
	var values []string
	for i := range 200 {
		values = append(values, fmt.Sprintf("k/%d", i))
	}
	f.sends(values...)
	written := 0
	for _, r := range f.read(source + ".state") {
		if len(versionsIn([]*kgo.Record{r})) > 0 {
			written++
		}
	}
	expect.That(t, written != 0 && written <= transactions && len(f.took) == 200, "%d records of one key's version in %d transactions of %d events", written, transactions, len(f.took))
}

// S0-6: keep: window frees a key whose newest version is wrong and far ahead. The remembered version is removed, so it
// does not come back with keep: always.
func TestEngine_S0_6_keepWindowRemovesWhatIsRemembered(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.sends("k/9000000000000000", "k/5")
	f.want("k/9000000000000000 delivered", "k/5 superseded")
	f.cfg.Ordering.Versions.Keep = retrytopics.KeepWindow
	f.sends("k/6")
	f.want("k/6 delivered")
	got := versionsIn(f.read(source + ".state"))
	expect.That(t, len(got) == 0, "the state topic remembers %q", got)
	f.cfg.Ordering.Versions.Keep = retrytopics.KeepAlways
	f.sends("k/7", "k/6")
	f.want("k/7 delivered", "k/6 superseded")
}
