package retrytopics_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const (
	trailTopic = "features.trail"
	headTopic  = "features.heads"
)

// counting is a hash chain whose head is the number of failures so far; each is written down with its number.
func counting() retrytopics.HashChain {
	return retrytopics.HashChain{HeadTopic: headTopic, Extend: func(p int32, head []byte, events []*retrytopics.Event) ([]*kgo.Record, []byte, error) {
		n := 0
		if head != nil {
			var err error
			if n, err = strconv.Atoi(string(head)); err != nil {
				return nil, nil, err
			}
		}
		var records []*kgo.Record
		for _, e := range events {
			if e.Failure == nil {
				continue
			}
			n++
			records = append(records, &kgo.Record{Topic: trailTopic, Partition: p, Value: fmt.Appendf(nil, "%d %s", n, e.Record.Source)})
		}
		if records == nil {
			return nil, head, nil
		}
		return records, strconv.AppendInt(nil, int64(n), 10), nil
	}}
}

// A hash chain has neither gap nor fork: not over transactions, not over a restart, which goes on from the committed head.
func TestTrail_S3_8_goesOnOverRestarts(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.creates(trailTopic, partitions)
	deny := func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if strings.HasSuffix(string(r.Key), "0") {
			return retrytopics.Result{}, classify.WithClass(classify.Row, errors.New("no"))
		}
		return retrytopics.Result{}, nil
	}
	const rounds, each = 3, 200
	for round := range rounds {
		for i := range each {
			b.produce(&kgo.Record{Key: fmt.Appendf(nil, "k%d-%d", round, i), Value: []byte("{}")})
		}
		cfg := b.config(deny)
		cfg.Journal.HashChain, cfg.Journal.KeepPartition = counting(), []string{trailTopic}
		b.drain(b.engine(cfg))
	}
	last, all := map[int32]int{}, 0
	for _, r := range b.read(trailTopic) {
		n, _, _ := strings.Cut(string(r.Value), " ")
		if got, err := strconv.Atoi(n); err != nil || got != last[r.Partition]+1 {
			t.Errorf("partition %d: %q after entry %d", r.Partition, r.Value, last[r.Partition])
		}
		last[r.Partition]++
		all++
	}
	expect.Equal(t, rounds*each/10, all, "entries")
	heads := map[int32]string{}
	for _, r := range b.read(headTopic) {
		heads[r.Partition] = string(r.Value)
	}
	for p, n := range last {
		if heads[p] != strconv.Itoa(n) {
			t.Errorf("partition %d: the head is %q after %d entries", p, heads[p], n)
		}
	}
}

func TestTrail_isRefusedWithoutTransactions(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	cfg := b.config(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, nil
	})
	cfg.Journal.HashChain, cfg.Delivery = counting(), retrytopics.AtLeastOnce
	_, err := retrytopics.New(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "fork"), "got %v", err)
	cfg.Journal.HashChain, cfg.Delivery = retrytopics.HashChain{HeadTopic: headTopic}, retrytopics.ExactlyOnce
	_, err = retrytopics.New(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "no Extend"), "got %v", err)
}
