package retrytopics_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S0-4: an output topic that takes little takes what fits it; the rest is dead, each record by itself.
func TestEngine_S0_4_anOutputTopicThatTakesLittle(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{500, 2000, 2048, 3000, 20_000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.configures("max.message.bytes", fmt.Sprint(limit), output)
			records := events(40)
			for i, r := range records {
				switch {
				case i%10 == 3:
					r.Value = noise(limit + 1)
				case i%10 == 4:
					r.Value = noise(limit / 2)
				}
			}
			b.produce(records...)
			cfg := b.config(copied)
			cfg.Outputs = []string{output}
			b.drain(b.engine(cfg))
			dead := b.read(source + ".dlq")
			for _, r := range dead {
				if code := headerOf(r, header.KeyErrorCode); code != string(classify.CodeOutputTooLarge) || len(r.Value) <= limit {
					t.Errorf("dead letter %s of %d bytes: %s %s", r.Key, len(r.Value), code, headerOf(r, header.KeyErrorMessage))
				}
			}
			out := len(b.read(output))
			expect.That(t, len(dead) == 4 && out == 36, "%d dead letters, %d outputs", len(dead), out)
		})
	}
}

// S0-4: a record keeps all of its producer's headers, delivered or dead, however many there are.
func TestEngine_S0_4_manyHeaders(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	var own []kgo.RecordHeader
	for i := range 10_000 {
		own = append(own, kgo.RecordHeader{Key: "h" + strconv.Itoa(i), Value: []byte("a value of 20 bytes!")})
	}
	b.produce(&kgo.Record{Key: []byte("good"), Value: []byte("v"), Headers: own}, &kgo.Record{Key: []byte("bad"), Value: []byte("v"), Headers: own})
	b.drain(b.engine(b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if string(r.Key) == "bad" {
			return retrytopics.Result{}, errors.New("it is bad")
		}
		return retrytopics.Result{Outputs: []*kgo.Record{{Topic: output, Key: r.Key, Value: r.Value, Headers: r.Headers}}}, nil
	})))
	for topic, key := range map[string]string{output: "good", source + ".dlq": "bad"} {
		got := b.read(topic)
		expect.That(t, len(got) == 1 && string(got[0].Key) == key && reflect.DeepEqual(header.ProducerHeaders(got[0].Headers), own),
			"%s has not the record %s alone, with its headers: %d records", topic, key, len(got))
	}
}

// A record that other software wrote into the memory is not skipped, since it may have replaced what is remembered, and ends the engine.
func TestEngine_S0_4_aMemoryWithRecordsOfOthersEndsTheEngine(t *testing.T) {
	t.Parallel()
	for topic, keys := range map[string][]string{source + ".state": {"k", "s/k", "v/k", ""}, source + ".ledger": {"k"}} {
		for _, key := range keys {
			b := newBroker(t)
			cfg := b.config(copied)
			cfg.Dedupe = retrytopics.Dedupe{Window: time.Hour, LedgerTopic: source + ".ledger"}
			cfg.Ordering = retrytopics.Ordering{Mode: retrytopics.OrderStrict, StateTopic: source + ".state"}
			e := b.engine(cfg)
			b.produce(append(events(2), &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte("\x01no json")})...)
			ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
			defer stop()
			err := e.RunUntilEnd(ctx)
			expect.That(t, errors.Is(err, retrytopics.ErrAlienMemory) && strings.Contains(err.Error(), topic+"/"), "%s, key %q: %v", topic, key, err)
		}
	}
}

// A partition that ends before what is committed of it was cut, or its topic made anew. The engine says so and ends, for good:
// new records have the offsets of old ones, and would be skipped or taken for older ones.
func TestEngine_S0_4_aPartitionThatWasCutEndsTheEngine(t *testing.T) {
	t.Parallel()
	for left, runs := range map[int][]func(*retrytopics.Engine, context.Context) error{
		20: {(*retrytopics.Engine).Run, (*retrytopics.Engine).RunUntilEnd},
		0:  {(*retrytopics.Engine).RunUntilEnd}, // no record shows it: only the ends do
	} {
		b := newBroker(t)
		b.produce(events(left)...)
		cfg := b.config(copied)
		b.resets(cfg.Group, 1000)
		ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
		defer stop()
		for _, run := range runs {
			err := run(b.engine(cfg), ctx)
			expect.That(t, errors.Is(err, retrytopics.ErrLogTruncated) && strings.Contains(err.Error(), "and 1000 is committed") && strings.Contains(err.Error(), source+" partition "),
				"%d records left: got %v", left, err)
		}
		expect.Equal(t, len(b.read(output)), 0, "records that took effect")
	}
}
