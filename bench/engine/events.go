package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// The number of an event is at a fixed place, so the handler and the count of the outputs find it without parsing.
const (
	eventStart  = `{"type":"Feature","id":`
	eventDigits = 10
)

// event returns the nth event: about 800 bytes of GeoJSON, different for every number.
func event(n, keys int) (key, value []byte) {
	k := n * 7919 % keys
	var b strings.Builder
	fmt.Fprintf(&b, `%s%0*d,"geometry":{"type":"Polygon","coordinates":[[`, eventStart, eventDigits, n)
	for i := range 24 {
		fmt.Fprintf(&b, "[%.6f,%.6f],", 7+float64((n*31+i*17)%99991)/1e5, 47+float64((n*37+i*13)%99989)/1e5)
	}
	fmt.Fprintf(&b, `[7.000000,47.000000]]]},"properties":{"parcel":%d,"revision":%d,"municipality":"municipality-%d","use":"arable land","area":%d.5,"surveyed":"2026-03-%02d"}}`,
		k, n, k%500, n%100000, 1+n%28)
	return []byte("municipality-" + strconv.Itoa(k%500) + "/parcel-" + strconv.Itoa(k)), []byte(b.String())
}

// numberOf parses the number of an event.
func numberOf(value []byte) (int, error) {
	if len(value) < len(eventStart)+eventDigits {
		return 0, errors.New("not an event of this bench")
	}
	return strconv.Atoi(string(value[len(eventStart) : len(eventStart)+eventDigits]))
}

// handler returns the handler of both contenders: it copies the event with its ID and content hash to the output. Every
// failEvery-th event (0: none) fails at its first failTimes attempts (0: one).
func handler(output string, failEvery, failTimes int) retrytopics.Handler {
	return func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result := retrytopics.Result{Identity: retrytopics.Identity{
			FeatureID: string(r.Key), ContentHash: idempotency.Of(r.Value).String(),
		}}
		n, err := numberOf(r.Value)
		if err != nil {
			return result, err
		}
		if fails(n, failEvery) && r.Attempt <= max(failTimes, 1) {
			return result, &classify.HTTPError{Status: 503, Method: "GET", URL: "http://example.test/"}
		}
		result.Outputs = []*kgo.Record{{Topic: output, Key: r.Key, Value: r.Value}}
		return result, nil
	}
}

// fails selects the failing events. They are spread over keys and partitions, and the same in every round.
func fails(n, failEvery int) bool {
	return failEvery > 0 && mix(n)%uint64(failEvery) == 0
}

// mix is the FNV-1a hash of the number.
func mix(n int) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range binary.BigEndian.AppendUint64(nil, uint64(n)) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h ^ h>>29
}

// produce produces events at a rate per second, or as fast as possible if the rate is 0.
func (b *bench) produce(ctx context.Context, topic string, events, rate int) error {
	var once sync.Once
	var failure error
	note := func(_ *kgo.Record, err error) {
		if err != nil {
			once.Do(func() { failure = err })
		}
	}
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := range events {
		for rate > 0 && float64(n) > time.Since(began).Seconds()*float64(rate) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		key, value := event(n, b.keys)
		b.client.Produce(ctx, &kgo.Record{Topic: topic, Key: key, Value: value}, note)
	}
	if err := b.client.Flush(ctx); err != nil {
		return fmt.Errorf("produce %s: %w", topic, err)
	}
	return failure
}

// burstPause is the time between two bursts of a quiet source.
const burstPause = 500 * time.Millisecond

// trickle produces events in bursts, with pauses in between.
func (b *bench) trickle(ctx context.Context, topic string, events, burst int) error {
	tick := time.NewTicker(burstPause)
	defer tick.Stop()
	for n := 0; n < events; n += burst {
		records := make([]*kgo.Record, 0, burst)
		for i := n; i < min(n+burst, events); i++ {
			key, value := event(i, b.keys)
			records = append(records, &kgo.Record{Topic: topic, Key: key, Value: value})
		}
		if err := b.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return fmt.Errorf("produce %s: %w", topic, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
