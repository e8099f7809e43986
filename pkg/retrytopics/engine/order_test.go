package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// stream returns n events over a few keys. A value is the key and a number within the key, such as "k3/7".
func stream(keys, n int) (records []*kgo.Record) {
	count := map[int]int{}
	for i := range n {
		k := i % keys
		records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "k%d", k), Value: fmt.Appendf(nil, "k%d/%d", k, count[k])})
		count[k]++
	}
	return records
}

// flaky fails a share of first and second attempts, the same ones in every run.
func flaky(share float64) retrytopics.Handler {
	return func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		h := idempotency.Of(r.Value, []byte{byte(r.Attempt)})
		if r.Attempt <= 2 && float64(h[0])/256 < share {
			return retrytopics.Result{}, unavailable
		}
		return hashed(ctx, r)
	}
}

// numbers returns, per key, the numbers of the events in the order in which they took effect.
func numbers(t *testing.T, out []*kgo.Record) map[string][]int {
	t.Helper()
	byKey := map[string][]int{}
	for _, r := range out {
		k, n, _ := strings.Cut(string(r.Value), "/")
		i := must.Get(strconv.Atoi(n))(t)
		byKey[k] = append(byKey[k], i)
	}
	return byKey
}

// inOrder checks that the events of each key took effect in order, each exactly once.
func (b *broker) inOrder(events int) {
	b.t.Helper()
	for k, ns := range numbers(b.t, b.read(output)) {
		events -= len(ns)
		for i, n := range ns {
			must.That(b.t, n == i, "%s took effect as %v", k, ns)
		}
	}
	expect.That(b.t, events == 0, "%d events did not take effect", events)
}

func (b *broker) ordered(h retrytopics.Handler, mode retrytopics.Order) retrytopics.Config {
	cfg := b.config(h)
	cfg.Ordering.Mode = mode
	return cfg
}

// compacted returns the last value of each key.
func compacted(records []*kgo.Record) map[string]string {
	last := map[string]string{}
	for _, r := range records {
		if strings.Contains(string(r.Value), `"checkpoint":`) {
			continue // the checkpoint of the partition is always there
		}
		if strings.Contains(string(r.Key), "\x00switchback-checkpoint\x00v") {
			continue // the newest version of a key lives as long as the key
		}
		last[string(r.Key)] = string(r.Value)
		if r.Value == nil {
			delete(last, string(r.Key))
		}
	}
	return last
}

func TestEngine_S0_6_dedupeClosesRepetitionsAndKeepsChanges(t *testing.T) {
	b := newBroker(t)
	cfg := b.ordered(flaky(0), retrytopics.OrderLatestWins)
	cfg.Dedupe.Window = time.Hour
	event := func(v string) *kgo.Record { return &kgo.Record{Key: []byte("k"), Value: []byte("k/" + v)} }
	outcomes := []policy.Outcome{}
	cfg.Hooks.OnCommit = func(es []*retrytopics.Event) {
		for _, e := range es {
			outcomes = append(outcomes, e.Decision.Outcome)
		}
	}
	b.produce(event("1"), event("1"), event("2"), event("1"))
	b.drain(b.engine(cfg))
	b.produce(event("1"), event("3")) // the ledger survives a restart
	b.drain(b.engine(cfg))
	expect.Equal(t, fmt.Sprint(outcomes), "[delivered duplicate delivered delivered duplicate delivered]", "outcomes")
}

// A dead letter of another pipeline that was sent here (replayer replay --to) is an event like any other: the offset of
// another topic does not make it older.
func TestEngine_S4_8_aLetterOfAnotherPipelineIsAnEvent(t *testing.T) {
	b := newBroker(t)
	cfg := b.ordered(flaky(0), retrytopics.OrderLatestWins)
	cfg.Dedupe.Window = time.Hour
	var last *retrytopics.Event
	cfg.Hooks.OnCommit = func(es []*retrytopics.Event) { last = es[len(es)-1] }
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("k/1")}, &kgo.Record{Key: []byte("k"), Value: []byte("k/2")})
	b.drain(b.engine(cfg))
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("k/3"), Headers: []kgo.RecordHeader{
		{Key: header.KeyDeadLetterID, Value: []byte("0-0-aabbccdd")}, {Key: header.KeySource, Value: []byte("elsewhere/0/0")},
		{Key: header.KeyReplayID, Value: []byte("r1")}, {Key: header.KeyReplayCount, Value: []byte("1")}}})
	b.drain(b.engine(cfg))
	expect.That(t, last.Decision.Outcome == policy.OutcomeDelivered && last.DeadLetterID == "" && last.Record.Control.ReplayID == "",
		"%s, dead letter %q, replay %q", last.Decision.Outcome, last.DeadLetterID, last.Record.Control.ReplayID)
}

// An event that the handler marks as a delete has no version of its own. It is newer than every event before it, even
// than a waiting one with a greater version.
func TestEngine_versionFieldDecidesAndADeleteCountsAsNewer(t *testing.T) {
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	inner := f.cfg.Handler
	f.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := inner(ctx, r)
		result.Delete = string(r.Value) == "gone"
		return result, err
	}
	f.fail["k/7 1"] = unavailable
	f.sends("k/5", "k/3", "k/7", "gone", "k/6")
	f.want("k/5 delivered", "k/3 superseded", "k/7 retried", "gone delivered", "k/6 delivered", "k/7 superseded")
}

// Engines are stopped while records wait. The next engine knows only what the topics hold, and may have another order. A
// waiting record never takes effect after a newer one, unless one of the engines kept no order, and it blocks nothing.
func TestEngine_S4_8_theOrderMayBeChangedWhileRecordsWait(t *testing.T) {
	t.Parallel()
	const strict, latest, none = retrytopics.OrderStrict, retrytopics.OrderLatestWins, retrytopics.OrderNone
	for name, modes := range map[string][]retrytopics.Order{
		"strict":         {strict, strict, strict, strict},
		"latest_wins":    {latest, latest, latest, latest},
		"to_strict":      {latest, strict, latest, strict},
		"to_latest_wins": {strict, latest, strict, latest},
		"from_none":      {strict, none, strict},
		"to_none":        {strict, latest, none},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			rnd := rand.New(rand.NewPCG(1, 1))
			for i, events := range slices.Collect(slices.Chunk(stream(10, 300), 300/len(modes))) {
				b.produce(events...)
				b.interrupted(b.ordered(flaky(0.4), modes[i]), 10+rnd.IntN(60))
			}
			b.drain(b.engine(b.ordered(flaky(0.4), modes[len(modes)-1])))
			for k, ns := range numbers(t, b.read(output)) {
				if slices.Contains(modes, none) {
					slices.Sort(ns) // each took effect exactly once anyway
				}
				for i := 1; i < len(ns); i++ {
					must.That(t, ns[i] > ns[i-1] && (name != "strict" || ns[i] == ns[i-1]+1), "%s took effect as %v", k, ns)
				}
				expect.That(t, ns[len(ns)-1] == 29 && (name != "strict" || len(ns) == 30), "%s ends with %d, want 29", k, ns[len(ns)-1])
			}
			left := compacted(b.read(source + ".state"))
			expect.That(t, len(left) == 0, "the state still remembers %v", left)
		})
	}
}

// interrupted runs an engine until it has committed the given number of events, or until nothing is left to do.
func (b *broker) interrupted(cfg retrytopics.Config, events int) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), testrun.Patient(20*time.Second))
	defer stop()
	cfg.Hooks.OnCommit = func(es []*retrytopics.Event) {
		if events -= len(es); events < 0 {
			stop()
		}
	}
	err := b.engine(cfg).RunUntilEnd(ctx)
	must.That(b.t, err == nil || errors.Is(err, context.Canceled), "%v", err)
}
