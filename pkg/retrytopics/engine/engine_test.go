package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

var unavailable = &classify.HTTPError{Status: 503, Method: "GET", URL: "http://places"}

// copied is a handler that copies the value to the output.
func copied(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	return retrytopics.Result{Outputs: []*kgo.Record{{Topic: output, Key: r.Key, Value: r.Value}}}, nil
}

// failing returns a handler that fails the first n attempts at every record and records when each began.
type failing struct {
	mu    sync.Mutex
	n     int
	err   error
	began map[string][]time.Time
	due   map[string][]time.Time
}

func (f *failing) handle(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.began == nil {
		f.began, f.due = map[string][]time.Time{}, map[string][]time.Time{}
	}
	k := string(r.Key)
	f.began[k] = append(f.began[k], time.Now())
	f.due[k] = append(f.due[k], r.Control.Due)
	if r.Attempt <= f.n {
		return retrytopics.Result{Identity: retrytopics.Identity{FeatureID: "id-" + k}}, f.err
	}
	return copied(ctx, r)
}

func events(n int) (records []*kgo.Record) {
	for i := range n {
		records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i),
			Headers: []kgo.RecordHeader{{Key: "ce_id", Value: fmt.Appendf(nil, "%d", i)}}})
	}
	return records
}

func TestEngine_C1_deliversEveryRecordOnce(t *testing.T) {
	b := newBroker(t)
	b.produce(events(500)...)
	b.drain(b.engine(b.config(copied)))
	out := b.read(output)
	seen := map[string]int{}
	for _, r := range out {
		seen[string(r.Value)]++
		got := headerOf(r, header.KeySource)
		must.That(t, strings.HasPrefix(got, source+"/"), "output has %s %q", header.KeySource, got)
	}
	expect.That(t, len(out) == 500 && len(seen) == 500, "%d outputs of %d events, want 500 of 500", len(out), len(seen))
}

func TestEngine_C2_transientFailureGoesThroughEachTierAndNeverEarly(t *testing.T) {
	b := newBroker(t)
	f := &failing{n: 3, err: unavailable}
	b.produce(events(40)...)
	cfg := b.config(f.handle)
	var committed []*retrytopics.Event
	cfg.Hooks.OnCommit = func(e []*retrytopics.Event) { committed = append(committed, e...) }
	b.drain(b.engine(cfg))
	out := b.read(output)
	must.That(t, len(out) == 40 && headerOf(out[0], header.KeyAttempt) == "4", "%d outputs, want 40 with attempt 4", len(out))
	for k, began := range f.began {
		for i := range began {
			if began[i].Before(f.due[k][i]) {
				t.Errorf("attempt %d of %s began %v early", i+1, k, f.due[k][i].Sub(began[i]))
			}
		}
		expect.That(t, len(began) == 4, "%d attempts at %s, want 4", len(began), k)
	}
	var path []string
	for _, e := range committed {
		if string(e.Record.Key) == "k7" {
			path = append(path, string(e.Decision.Outcome)+" to "+e.Destination)
		}
	}
	want := []string{"retried to features.retry-100ms", "retried to features.retry-300ms", "retried to features.retry-600ms", "delivered to features.out"}
	expect.That(t, slices.Equal(path, want), "path of k7: %v", path)
}

func TestEngine_C3_deadLetterIsByteIdentical(t *testing.T) {
	b := newBroker(t)
	bad := &kgo.Record{Key: []byte("k\x00\xff"), Value: []byte("not json \xfe"), Headers: []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte("00-1")}, {Key: "dup", Value: []byte("1")}, {Key: "dup", Value: nil}, {Key: "empty", Value: []byte{}}}}
	empty := &kgo.Record{Key: []byte("empty"), Value: []byte{}}
	tombstone := &kgo.Record{Key: []byte("tombstone")}
	noKey := &kgo.Record{Value: []byte("x")}
	b.produce(bad, empty, tombstone, noKey)
	b.drain(b.engine(b.config(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, errors.New("an error without a class")
	})))
	deadLetters := b.read(source + ".dlq")
	must.That(t, len(deadLetters) == 4, "%d dead letters, want 4", len(deadLetters))
	originals := map[string]*kgo.Record{}
	for _, r := range b.read(source) {
		originals[header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()] = r
	}
	for _, l := range deadLetters {
		o := originals[headerOf(l, header.KeySource)]
		if o == nil || !bytes.Equal(o.Key, l.Key) || !bytes.Equal(o.Value, l.Value) || (o.Value == nil) != (l.Value == nil) || (o.Key == nil) != (l.Key == nil) {
			t.Errorf("dead letter %q=%q differs from its source %+v", l.Key, l.Value, o)
			continue
		}
		got := header.ProducerHeaders(l.Headers)
		expect.That(t, len(got) == len(o.Headers) && (len(got) <= 0 || reflect.DeepEqual(got, o.Headers)), "producer headers %v, want %v", got, o.Headers)
		c, err := header.ParseControl(l.Headers)
		expect.That(t, err == nil && c.ErrorCode == string(classify.CodeUnknown) && c.DeadLetterID != "" && c.Attempt == 1 && c.Due.IsZero(), "control headers %+v, %v", c, err)
	}
}

func TestEngine_S4_15_panicIsAFailureOfItsRecordAlone(t *testing.T) {
	b := newBroker(t)
	b.produce(events(20)...)
	b.drain(b.engine(b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if string(r.Key) == "k3" {
			panic("boom")
		}
		return copied(ctx, r)
	})))
	deadLetters := b.read(source + ".dlq")
	must.That(t, len(deadLetters) == 1 && headerOf(deadLetters[0], header.KeyErrorCode) == string(classify.CodePanic) && len(b.read(output)) == 19, "letters %v, %d outputs", deadLetters, len(b.read(output)))
	msg := headerOf(deadLetters[0], header.KeyErrorMessage)
	expect.That(t, !strings.Contains(msg, "goroutine"), "the message contains a stack: %s", msg)
}

// A record whose wait is longer than the longest tier goes through that tier several times, without attempts.
func TestEngine_S1_6_retryAfterBeyondTheLongestTierIsParkedWithoutAnAttempt(t *testing.T) {
	b := newBroker(t)
	f := &failing{n: 1, err: &classify.HTTPError{Status: 429, RetryAfter: time.Hour}}
	b.produce(events(3)...)
	cfg := b.config(f.handle)
	count := tally{}
	cfg.Hooks.OnCommit = count.add
	ctx, end := b.runs(b.engine(cfg))
	b.until(ctx, func() bool { return count.of(policy.OutcomeRetried) == 3 && count.of(policy.OutcomeParked) >= 6 })
	end()
	for k, began := range f.began {
		expect.That(t, len(began) == 1, "attempts at %s: %v", k, began)
	}
	expect.Equal(t, count.of(policy.OutcomeRetried), 3, "retried")
}

func TestEngine_malformedControlHeaderInATierIsADeadLetter(t *testing.T) {
	b := newBroker(t)
	cfg := b.config(copied)
	e := b.engine(cfg)
	b.produce(&kgo.Record{Topic: cfg.Retries.Tiers[0].Topic, Key: []byte("k"), Value: []byte("v"),
		Headers: []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("many")}}})
	b.drain(e)
	deadLetters := b.read(source + ".dlq")
	must.That(t, len(deadLetters) == 1 && headerOf(deadLetters[0], header.KeyErrorCode) == string(classify.CodeMalformedHeader) && string(deadLetters[0].Value) == "v", "letters %v", deadLetters)
}

// noise returns random bytes, which do not compress.
func noise(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(random.Uint32())
	}
	return out
}

// An output that its topic does not accept becomes a dead letter and stops nothing else, whether the cluster told the
// topic's limit or refuses the batch, and whether the output is alone in its batch. An output that fits once compressed
// is delivered.
func TestEngine_outputThatDoesNotFitIsADeadLetterAndTheFlowGoesOn(t *testing.T) {
	t.Parallel()
	for name, outputs := range map[string][]string{"told": {output}, "refused": nil} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			b.produce(events(30)...)
			cfg := b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
				result, err := copied(ctx, r)
				switch string(r.Key) {
				case "k3":
					result.Outputs[0].Value = noise(2 << 20)
				case "k4":
					result.Outputs[0].Value = make([]byte, 2<<20)
				}
				return result, err
			})
			cfg.Outputs = outputs
			b.drain(b.engine(cfg))
			dead := b.read(source + ".dlq")
			must.That(t, len(dead) == 1 && headerOf(dead[0], header.KeyErrorCode) == string(classify.CodeOutputTooLarge) && string(dead[0].Value) == "v3", "dead letters %v", dead)
			if outputs == nil {
				request, response := headerOf(dead[0], header.KeyErrorRequest), headerOf(dead[0], header.KeyErrorResponse)
				expect.That(t, request == `{"method":"produce","topic":"features.out"}` && response == `{"kafka_error":10}`, "S2-5: request %s, response %s", request, response)
			} else if text := headerOf(dead[0], header.KeyErrorMessage); !strings.Contains(text, "features.out") || !strings.Contains(text, "max.message.bytes") {
				t.Errorf("the message does not suggest what to do: %s", text)
			}
			expect.Equal(t, len(b.read(output)), 29, "outputs")
		})
	}
}

func TestEngine_refusesTopicsThatDoNotFit(t *testing.T) {
	b := newBroker(t)
	cfg := b.config(copied)
	cfg.DLQ = "nowhere"
	e := must.Get(engine.New(cfg))(t)
	err := e.Run(t.Context())
	expect.That(t, errors.Is(err, engine.ErrTopics) && strings.Contains(err.Error(), "nowhere"), "got %v", err)
}

func TestNewReportsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := engine.New(retrytopics.Config{Retries: retrytopics.Retries{Policy: policy.Policy{MaxAttempts: -1}}, Limits: retrytopics.Limits{Concurrency: -2}})
	for _, want := range []string{"Source", "Group", "Handler", "Brokers", "MaxAttempts", "Concurrency"} {
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s is missing in: %v", want, err)
	}
}

// S1-1: due times are set and compared by the clock of the instance. An instance whose clock is an hour ahead sets due
// times an hour later, and attempts at once what another instance postponed by less.
func TestEngine_S1_1_dueTimesAreThoseOfTheInstancesClock(t *testing.T) {
	b := newBroker(t)
	var failing retrytopics.Handler = func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, unavailable
	}
	b.produce(stream(1, 1)...)
	cfg := b.config(failing)
	cfg.Timing.ClockSkew = func() time.Duration { return time.Hour }
	began := time.Now()
	b.interrupted(cfg, 0)
	waiting := b.read(cfg.Retries.Tiers[0].Topic)
	must.That(t, len(waiting) == 1, "%d records wait, want 1", len(waiting))
	due, err := time.Parse(time.RFC3339, headerOf(waiting[0], header.KeyDue))
	expect.That(t, err == nil && !due.Before(began.Add(time.Hour)), "due at %v (%v), want an hour after %v", due, err, began)
	next := b.config(copied)
	next.Timing.ClockSkew = func() time.Duration { return 2 * time.Hour }
	b.drain(b.engine(next))
	expect.Equal(t, len(b.read(output)), 1, "outputs")
}
