package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// forcing is a pipeline in which one event becomes a dead letter and is replayed after newer events.
type forcing struct {
	*broker
	cfg  retrytopics.Config
	took []string // "value outcome" of each event, with the reason of a delivery unless it is the usual one
	fail map[string]error
}

// newForcing returns a pipeline whose handler fails the named values. If versioned is true, the number after the slash
// is the version.
func newForcing(t *testing.T, mode retrytopics.Order, versioned bool) *forcing {
	t.Helper()
	f := &forcing{broker: newBroker(t), fail: map[string]error{}}
	f.cfg = f.ordered(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := hashed(ctx, r)
		if _, n, ok := strings.Cut(string(r.Value), "/"); ok && versioned {
			v, _ := strconv.ParseInt(n, 10, 64)
			result.Version = &v
		}
		if failure := f.fail[fmt.Sprintf("%s %d", r.Value, r.Attempt)]; failure != nil {
			return retrytopics.Result{Identity: result.Identity, Version: result.Version}, failure
		}
		return result, err
	}, mode)
	f.cfg.Ordering.Versioned, f.cfg.Dedupe.Window = versioned, time.Hour
	f.cfg.Hooks.OnCommit = func(es []*retrytopics.Event) {
		for i := range es {
			d := es[i].Decision
			text := string(es[i].Record.Value) + " " + string(d.Outcome)
			if d.Reason == policy.ReasonForced {
				text += " by force"
			}
			f.took = append(f.took, text)
		}
	}
	return f
}

// takes lets a new engine finish these records.
func (f *forcing) takes(records ...*kgo.Record) {
	f.t.Helper()
	f.produce(records...)
	f.drain(f.engine(f.cfg))
}

func (f *forcing) sends(values ...string) {
	f.t.Helper()
	for _, v := range values {
		f.produce(&kgo.Record{Key: []byte("k"), Value: []byte(v)})
	}
	f.drain(f.engine(f.cfg))
}

// deadLetters returns all dead letters in the form in which the replayer reinjects them.
func (f *forcing) deadLetters(force bool) []*kgo.Record {
	f.t.Helper()
	var back []*kgo.Record
	for i, l := range f.read(source + ".dlq") {
		headers := []kgo.RecordHeader{
			{Key: header.KeyDeadLetterID, Value: []byte(headerOf(l, header.KeyDeadLetterID))},
			{Key: header.KeySource, Value: []byte(headerOf(l, header.KeySource))},
			{Key: header.KeyReplayID, Value: fmt.Appendf(nil, "r%d", i)}, {Key: header.KeyReplayCount, Value: []byte("1")},
		}
		if force {
			headers = append(headers, kgo.RecordHeader{Key: header.KeyForceVersion, Value: []byte("true")})
		}
		back = append(back, &kgo.Record{Key: l.Key, Value: l.Value, Headers: headers})
	}
	return back
}

func (f *forcing) replays(force bool) {
	f.t.Helper()
	f.takes(f.deadLetters(force)...)
}

func (f *forcing) want(took ...string) {
	f.t.Helper()
	expect.That(f.t, slices.Equal(f.took, took), "got  %q\nwant %q", f.took, took)
	f.took = nil
}

var badRow = fmt.Errorf("bad row")

// S4-8: a forced replay takes effect over newer data. Events newer than that data win again, events in between stay
// superseded, and the same replay a second time is a duplicate.
func TestEngine_S4_8_forcedReplayOverwritesNewerDataAndLosesToWhatIsNewerStill(t *testing.T) {
	t.Parallel()
	for _, mode := range []retrytopics.Order{retrytopics.OrderLatestWins, retrytopics.OrderStrict} {
		t.Run(string(mode), func(t *testing.T) {
			f := newForcing(t, mode, true)
			f.fail["k/2 1"] = badRow
			f.sends("k/2", "k/5")
			f.want("k/2 dead_lettered", "k/5 delivered")
			delete(f.fail, "k/2 1")
			f.replays(false)
			f.want("k/2 superseded")
			f.replays(true)
			f.want("k/2 delivered by force")
			f.replays(true)
			f.want("k/2 duplicate")
			between := "k/4 superseded"
			if mode == retrytopics.OrderStrict { // strict order protects replays by itself
				between = "k/4 delivered"
			}
			f.sends("k/4", "k/5", "k/6")
			f.want(between, "k/5 delivered", "k/6 delivered")
		})
	}
}

// S4-8: a superseded dead letter can be reopened and replayed at any time. Until then the newest event of its key is
// remembered, even if the ledger has forgotten it, so the dead letter takes effect only by force.
func TestEngine_S4_8_aSupersededLetterLosesAgainUntilItIsForced(t *testing.T) {
	t.Parallel()
	for _, mode := range []retrytopics.Order{retrytopics.OrderLatestWins, retrytopics.OrderStrict} {
		t.Run(string(mode), func(t *testing.T) {
			f := newForcing(t, mode, true)
			f.fail["k/2 1"] = badRow
			f.sends("k/5") // before the event became a dead letter: only the ledger knows about it
			f.sends("k/2")
			f.want("k/5 delivered", "k/2 dead_lettered")
			replay := func(force bool) { f.takes(f.deadLetters(force)[0]) }
			replay(false)
			f.want("k/2 dead_lettered")
			delete(f.fail, "k/2 1")
			replay(false)
			f.want("k/2 superseded")
			f.cfg.Dedupe.Window = time.Nanosecond // as if a day had passed
			replay(false)
			f.want("k/2 superseded")
			replay(true)
			f.want("k/2 delivered by force")
			left := compacted(f.read(source + ".state"))
			expect.That(t, len(left) == 0, "the state still remembers %v", left)
		})
	}
}

// The force flag goes through the tiers together with the position of the replay. A retried forced replay overwrites
// what was there when it was reinjected, but nothing newer.
func TestEngine_S4_8_forcedReplayKeepsItsFlagThroughTheTiers(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.fail["k/2 1"] = badRow
	f.sends("k/2", "k/5")
	f.fail["k/2 1"], f.fail["k/2 2"], f.took = unavailable, unavailable, nil
	f.replays(true)
	f.want("k/2 retried", "k/2 retried", "k/2 delivered by force")
	delete(f.fail, "k/2 2")
	f.sends("k/7")
	f.takes(append(f.deadLetters(true), &kgo.Record{Key: []byte("k"), Value: []byte("k/8")})...)
	f.want("k/7 delivered", "k/2 retried", "k/8 delivered", "k/2 superseded")
}

// A replayed dead letter that dies again loses the force flag, because the flag belongs to one replay. The next replay
// is judged by its version.
func TestEngine_S4_8_forcedReplayThatDiesAgainIsAnUsualLetter(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.fail["k/2 1"] = badRow
	f.sends("k/2", "k/5")
	f.replays(true)
	f.want("k/2 dead_lettered", "k/5 delivered", "k/2 dead_lettered")
	dead := f.read(source + ".dlq")
	must.That(t, len(dead) == 2 && headerOf(dead[0], header.KeyDeadLetterID) == headerOf(dead[1], header.KeyDeadLetterID), "%d records in the DLQ, want two of one dead letter", len(dead))
	expect.Equal(t, headerOf(dead[1], header.KeyForceVersion)+headerOf(dead[1], header.KeyReplaySource)+headerOf(dead[1], header.KeyReplayGeneration), "", "the letter still")
	delete(f.fail, "k/2 1")
	f.takes(f.deadLetters(false)[1])
	f.want("k/2 superseded")
	f.takes(f.deadLetters(true)[1])
	f.want("k/2 delivered by force")
}

// The force header alone is not trusted. A malformed one is a failure; it is never read as false.
func TestEngine_S4_8_forceVersionCountsOnlyWithAReplay(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.sends("k/5")
	f.produce(
		&kgo.Record{Key: []byte("k"), Value: []byte("k/2"), Headers: []kgo.RecordHeader{{Key: header.KeyForceVersion, Value: []byte("true")}}},
		&kgo.Record{Key: []byte("k"), Value: []byte("k/9"), Headers: []kgo.RecordHeader{{Key: header.KeyForceVersion, Value: []byte("maybe")}}})
	f.drain(f.engine(f.cfg))
	f.want("k/5 delivered", "k/2 superseded", "k/9 dead_lettered")
	expect.Equal(t, headerOf(f.read(source + ".dlq")[0], header.KeyErrorCode), "malformed_header", "code")
}
