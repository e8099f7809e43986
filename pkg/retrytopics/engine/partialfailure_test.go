package engine_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// words is a pipeline whose records have several parts: the words of a value. A word that ends in ! fails permanently.
// One that ends in ?n fails transiently up to attempt n. One that begins with - is filtered.
type words struct {
	*broker
	cfg   retrytopics.Config
	asked []string    // word and attempt
	ended []string    // per commit: word or value, and its outcome
	fixed atomic.Bool // nothing fails permanently any more
}

func newWords(t *testing.T, mode retrytopics.Order) *words {
	t.Helper()
	w := &words{broker: newBroker(t)}
	w.cfg = w.ordered(w.handle, mode)
	w.cfg.Limits.Concurrency = 1
	w.cfg.Dedupe.Window = time.Hour
	w.cfg.Hooks.OnCommit = func(events []*retrytopics.Event) {
		for _, e := range events {
			for _, dead := range e.Dead {
				w.ended = append(w.ended, fmt.Sprintf("part %s %s %s", dead.Part, dead.Decision.Outcome, dead.Decision.Reason))
			}
			w.ended = append(w.ended, fmt.Sprintf("%s: %s %s %v", e.Record.Value, e.Decision.Outcome, e.Decision.Reason, e.Parts))
		}
	}
	return w
}

func (w *words) handle(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	hash := retrytopics.Identity{ContentHash: idempotency.Of(r.Value).String()}
	result := retrytopics.Result{Identity: hash}
	if result.Close = r.Judge(hash.ContentHash, nil); result.Close != "" {
		return result, nil
	}
	all := strings.Fields(string(r.Value))
	part := func(i int) header.Part {
		if !r.Control.Part.Whole() {
			return r.Control.Part
		}
		return header.Part{Index: i, Of: len(all)}
	}
	result.Of = len(all)
	for i, word := range all {
		if remaining := r.Control.Remaining; remaining != nil && !remaining.Has(i) {
			continue
		}
		result.Parts++
		w.asked = append(w.asked, fmt.Sprint(word, " ", r.Attempt))
		switch err := w.fails(word, r.Attempt); {
		case strings.HasPrefix(word, "-"):
		case err != nil && !r.Control.Part.Whole():
			return result, err
		case err != nil:
			result.Failed = append(result.Failed, retrytopics.FailedPart{
				Part: part(i), Identity: retrytopics.Identity{FeatureID: word, ContentHash: idempotency.Of([]byte(word)).String()}, Value: func() []byte { return []byte(word) }, Err: err,
			})
		default:
			result.Outputs = append(result.Outputs, &kgo.Record{Topic: output, Key: []byte(word), Value: []byte(word),
				Headers: []kgo.RecordHeader{{Key: header.KeyPart, Value: []byte(part(i).String())}}})
		}
	}
	return result, nil
}

func (w *words) fails(word string, attempt int) error {
	if _, n, ok := strings.Cut(word, "?"); ok && attempt <= int(n[0]-'0') && !w.fixed.Load() {
		return unavailable
	}
	if strings.HasSuffix(word, "!") && !w.fixed.Load() {
		return errors.New("bad word")
	}
	return nil
}

func (w *words) sends(values ...string) {
	w.t.Helper()
	for _, v := range values {
		w.produce(&kgo.Record{Key: []byte("k"), Value: []byte(v), Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}})
	}
	w.drain(w.engine(w.cfg))
}

func (w *words) want(ended ...string) {
	w.t.Helper()
	expect.That(w.t, slices.Equal(w.ended, ended), "got\n  %s\nwant\n  %s", strings.Join(w.ended, "\n  "), strings.Join(ended, "\n  "))
	w.ended = nil
}

// outputs returns word and part of each output, sorted.
func (w *words) outputs() (out []string) {
	for _, r := range w.read(output) {
		out = append(out, string(r.Value)+" "+headerOf(r, header.KeyPart))
	}
	slices.Sort(out)
	return out
}

// replays reinjects dead letters as the replayer does, except those with the given value.
func (w *words) replays(leave ...string) {
	w.t.Helper()
	for i, l := range w.read(source + ".dlq") {
		if slices.Contains(leave, string(l.Value)) {
			continue
		}
		c := must.Get(header.ParseControl(l.Headers))(w.t)
		w.produce(putBack(c, l, i))
	}
	w.drain(w.engine(w.cfg))
}

// putBack returns the record that the replayer writes for a dead letter.
func putBack(c header.Control, l *kgo.Record, n int) *kgo.Record {
	back := header.Control{
		DeadLetterID: c.DeadLetterID, Source: c.Source, HasSource: true, ReplayID: fmt.Sprint("r", n), ReplayCount: 1, ContentHash: c.ContentHash,
		Part: c.Part, PartVersion: c.PartVersion, Remaining: c.Remaining,
	}
	return &kgo.Record{Key: l.Key, Value: l.Value, Headers: back.AppendTo(header.ProducerHeaders(l.Headers))}
}

// In every order, each part of a record is delivered, retried or dead-lettered by itself. A retry attempts only the
// remaining parts, and a replay of the dead ones finishes the record: every part is delivered exactly once.
func TestEngine_S4_8_partsEndByThemselves(t *testing.T) {
	t.Parallel()
	for _, mode := range retrytopics.Orders() {
		t.Run(string(mode), func(t *testing.T) {
			w := newWords(t, mode)
			w.sends("a b! c?1 -d e?2 f!")
			w.want("part 1/6 dead_lettered permanent_failure", "part 5/6 dead_lettered permanent_failure",
				"a b! c?1 -d e?2 f!: retried transient_failure {1 1 2 2 0}",
				"a b! c?1 -d e?2 f!: retried transient_failure {1 0 0 1 0}",
				"a b! c?1 -d e?2 f!: delivered parts_dead {1 0 0 0 0}")
			expect.That(t, slices.Equal(w.asked, ([]string{"a 1", "b! 1", "c?1 1", "-d 1", "e?2 1", "f! 1", "c?1 2", "e?2 2", "e?2 3"})), "asked %q", w.asked)
			got := w.outputs()
			expect.That(t, slices.Equal(got, []string{"a 0/6", "c?1 2/6", "e?2 4/6"}), "outputs %q", got)
			w.fixed.Store(true)
			w.replays()
			w.want("b!: delivered handled {1 0 0 0 0}", "f!: delivered handled {1 0 0 0 0}")
			got = w.outputs()
			expect.That(t, slices.Equal(got, []string{"a 0/6", "b! 1/6", "c?1 2/6", "e?2 4/6", "f! 5/6"}), "outputs after the replay %q", got)
		})
	}
}

// The dead letter of a part contains the part, the key and the headers of the record, and the part's index. It has an
// ID of its own.
func TestEngine_S1_5_deadLetterOfAPart(t *testing.T) {
	w := newWords(t, retrytopics.OrderNone)
	w.sends("a b! c!")
	deadLetters := w.read(source + ".dlq")
	must.That(t, len(deadLetters) == 2, "%d dead letters", len(deadLetters))
	ids := map[string]bool{}
	for i, word := range []string{"b!", "c!"} {
		l := deadLetters[i]
		c, err := header.ParseControl(l.Headers)
		if err != nil || c.Part != (header.Part{Index: i + 1, Of: 3}) || c.FeatureID != word || c.Remaining != nil || c.Attempt != 1 || c.Source.Offset != 0 ||
			c.ContentHash != idempotency.Of([]byte(word)).String() || string(l.Key) != "k" || string(l.Value) != word || headerOf(l, "traceparent") != "00-1" {
			t.Errorf("dead letter %d is %q: %+v, %v", i, l.Value, c, err)
		}
		ids[c.DeadLetterID] = true
	}
	expect.That(t, len(ids) == 2, "ids %v", ids)
}

// An event that arrives again while a part of it is a dead letter is not a duplicate. An event that took effect
// completely is.
func TestEngine_S0_6_aRecordWithDeadPartsIsNotRemembered(t *testing.T) {
	w := newWords(t, retrytopics.OrderLatestWins)
	w.sends("a b!", "a b!", "a c?1")
	w.want("part 1/2 dead_lettered permanent_failure", "a b!: delivered parts_dead {1 0 1 0 0}",
		"part 1/2 dead_lettered permanent_failure", "a b!: delivered parts_dead {1 0 1 0 0}",
		"a c?1: retried transient_failure {1 0 0 1 0}", "a c?1: delivered handled {1 0 0 0 0}")
	w.sends("a c?1")
	w.want("a c?1: duplicate handled {0 0 0 0 0}")
}

// With latest_wins, a newer event of the key supersedes the remaining parts and the dead parts of a record. Other parts
// of the same record never do.
func TestEngine_S4_8_partsAreSupersededByNewerEventsOnly(t *testing.T) {
	w := newWords(t, retrytopics.OrderLatestWins)
	w.sends("a b! c?1", "z")
	w.want("part 1/3 dead_lettered permanent_failure", "a b! c?1: retried transient_failure {1 0 1 1 0}",
		"z: delivered handled {1 0 0 0 0}", "a b! c?1: superseded handled {0 0 0 0 1}")
	w.fixed.Store(true)
	w.replays()
	w.want("b!: superseded handled {0 0 0 0 0}")
}

// A replayed part is judged by the version of its record, not by the version that the handler returns for the part alone.
func TestEngine_S4_8_aPartHasTheVersionOfItsRecord(t *testing.T) {
	w := newWords(t, retrytopics.OrderLatestWins)
	w.cfg.Ordering.Versioned = true
	versions := map[string]int64{"a b!": 10, "b!": 5, "y": 7, "z": 11}
	inner := w.cfg.Handler
	w.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := inner(ctx, r)
		result.Version = new(versions[string(r.Value)])
		return result, err
	}
	w.sends("a b!", "y")
	w.fixed.Store(true)
	w.replays()
	w.want("part 1/2 dead_lettered permanent_failure", "a b!: delivered parts_dead {1 0 1 0 0}",
		"y: superseded overtaken {0 0 0 0 0}", "b!: delivered handled {1 0 0 0 0}")
	w.sends("z")
	w.want("z: delivered handled {1 0 0 0 0}")
}

// A record with too many failed parts becomes one dead letter, and nothing of it is delivered.
func TestEngine_S1_5_tooManyDeadPartsAreOneDeadLetter(t *testing.T) {
	w := newWords(t, retrytopics.OrderNone)
	value := "good" + strings.Repeat(" x!", 1001)
	w.sends(value)
	deadLetters := w.read(source + ".dlq")
	must.That(t, len(deadLetters) == 1 && string(deadLetters[0].Value) == value && len(w.read(output)) == 0, "%d dead letters, %d outputs", len(deadLetters), len(w.read(output)))
	got := headerOf(deadLetters[0], header.KeyErrorMessage)
	expect.That(t, strings.Contains(got, "1001 of 1002 parts failed") && strings.Contains(got, "part 1/1002: bad word"), "%v", got)
	w.fixed.Store(true)
	w.replays()
	expect.Equal(t, len(w.read(output)), 1002, "outputs after the replay")
}

// A handler can ask before its own effects whether its record will become one dead letter.
func TestEngine_S1_5_failsWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		whole bool
	}{
		"as many as can be": {strings.Repeat("x! ", 1000), false},
		"one more":          {strings.Repeat("x! ", 1001), true},
		"that may pass":     {strings.Repeat("x?1 ", 2000), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWords(t, retrytopics.OrderNone)
			var said []bool
			inner := w.cfg.Handler
			w.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
				result, err := inner(ctx, r)
				said = append(said, r.FailsWhole(result.Failed))
				return result, err
			}
			w.sends("good " + c.value)
			got := len(w.read(output)) == 0
			expect.That(t, said[0] == c.whole && got == c.whole, "it reported %v, and nothing was delivered is %v", said, got)
		})
	}
}

// If no tier accepts the remaining parts, each becomes a dead letter.
func TestEngine_S1_5_aRestThatFitsNoTierDiesPartByPart(t *testing.T) {
	w := newWords(t, retrytopics.OrderNone)
	e := w.engine(w.cfg)
	for _, tier := range w.cfg.Retries.Tiers {
		w.configures("max.message.bytes", "20000", tier.Topic)
	}
	w.produce(&kgo.Record{Key: []byte("k"), Value: []byte("a b?1 c?1 " + base64.StdEncoding.EncodeToString(noise(30_000)))})
	w.drain(e)
	var dead []string
	for _, l := range w.read(source + ".dlq") {
		dead = append(dead, string(l.Value)+" "+headerOf(l, header.KeyPart))
	}
	expect.That(t, slices.Equal(dead, []string{"b?1 1/4", "c?1 2/4"}) && len(w.read(output)) == 2, "dead letters %q", dead)
}

// Remaining parts that die together are replayed together, and parts that were delivered before are not delivered again.
func TestEngine_S1_5_aRestThatDiesWholeIsReplayedAsARest(t *testing.T) {
	w := newWords(t, retrytopics.OrderStrict)
	inner := w.cfg.Handler
	w.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if r.Attempt == 2 && !w.fixed.Load() {
			return retrytopics.Result{}, errors.New("an error without a class")
		}
		return inner(ctx, r)
	}
	w.sends("a b?1 c?1")
	deadLetters := w.read(source + ".dlq")
	must.That(t, len(deadLetters) == 1 && string(deadLetters[0].Value) == "a b?1 c?1" && headerOf(deadLetters[0], header.KeyRemaining) == "3;1;0;1-2", "letters %v", deadLetters)
	w.fixed.Store(true)
	w.cfg.Handler = inner
	w.replays()
	got := w.outputs()
	expect.That(t, slices.Equal(got, []string{"a 0/3", "b?1 1/3", "c?1 2/3"}), "outputs %q", got)
}

// If a dead letter blocks its key, each dead letter of a record blocks it: the key continues once all of them are
// resolved, whichever attempt they died in and whatever order they return in.
func TestEngine_S3_1_everyDeadPartHoldsItsKey(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"at once": "a b! c!", "with a rest": "a b! c! d?2", "later": "a b?1! c! d?2"} {
		t.Run(name, func(t *testing.T) {
			w := newWords(t, retrytopics.OrderStrict)
			w.cfg.Ordering.OnDeadLetter = retrytopics.OnDeadLetterHoldKey
			w.held(value)
		})
	}
}

// held sends a record with two parts that die and one record after it. It replays the parts one by one, once the record
// has ended and while the next one waits.
func (w *words) held(value string) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), testrun.Patient(30*time.Second))
	defer stop()
	var ended []string
	backs, waited := 0, false
	w.cfg.Hooks.OnCommit = func(events []*retrytopics.Event) {
		for _, e := range events {
			switch v := string(e.Record.Value); {
			case e.Decision.Outcome.Finished():
				ended = append(ended, v)
				waited = false
				if v == "z" {
					stop()
				}
			case v == "z":
				waited = len(ended) > backs
			}
		}
		if !waited || backs == 2 {
			return
		}
		waited = false
		w.fixed.Store(true)
		deadLetter := w.read(source + ".dlq")[1-backs]
		c, _ := header.ParseControl(deadLetter.Headers)
		backs++
		w.produce(putBack(c, deadLetter, backs))
	}
	w.produce(&kgo.Record{Key: []byte("k"), Value: []byte(value)}, &kgo.Record{Key: []byte("k"), Value: []byte("z")})
	must.Do(w.t, w.engine(w.cfg).Run(ctx))
	deadLetters := w.read(source + ".dlq")
	want := []string{value, string(deadLetters[1].Value), string(deadLetters[0].Value), "z"}
	expect.That(w.t, slices.Equal(ended, want), "ended in the order %q, want %q", ended, want)
	left := compacted(w.read(source + ".state"))
	expect.That(w.t, len(left) == 0, "the state topic still has %v", left)
}
