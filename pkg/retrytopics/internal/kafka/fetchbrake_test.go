package kafka

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S4-14: fetches that are answered at once, and with nothing, are slowed. A batch, a broker that waits for records, or an error
// ends the brake.
func TestFetchBrake_S4_14_slowsEmptyFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := kgo.BrokerMetadata{NodeID: 1}
		for name, end := range map[string]func(*fetchBrake){
			"batch": func(b *fetchBrake) { b.OnFetchBatchRead(broker, "t", 0, kgo.FetchBatchMetrics{}) },
			"idle":  func(b *fetchBrake) { b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, fetchIdle, nil) },
			"error": func(b *fetchBrake) { b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, 0, errors.New("connection lost")) },
		} {
			var b fetchBrake
			begin := time.Now()
			for range fetchRun + 5 {
				b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, time.Millisecond, nil)
				b.OnBrokerRead(kgo.BrokerMetadata{NodeID: 2}, int16(kmsg.Metadata), 0, 0, 0, nil)
			}
			if took := time.Since(begin); took != 5*emptyFetchPause { // virtual time
				t.Errorf("%s: empty fetches pause for %v, want %v", name, took, 5*emptyFetchPause)
			}
			end(&b)
			begin = time.Now()
			b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, time.Millisecond, nil)
			expect.Equal(t, time.Since(begin), 0, name, "the next fetch pauses for")
		}
	})
}

// A record that has to be alone shares its batch with none, though a record without a key may come into the batch of any partition.
func TestWave(t *testing.T) {
	t.Parallel()
	type record struct {
		partition int32
		size      int
		alone     bool
	}
	const anywhere = unknownPartition
	for name, c := range map[string]struct {
		records []record
		goes    []bool
	}{
		"by partition":                  {[]record{{0, 60, false}, {1, 60, false}, {0, 40, false}, {0, 1, false}}, []bool{true, true, true, false}},
		"one too many shuts":            {[]record{{0, 60, false}, {0, 60, false}, {0, 1, false}}, []bool{true, false, false}},
		"alone, and others elsewhere":   {[]record{{0, 1, true}, {0, 1, false}, {1, 1, false}, {1, 1, true}, {2, 1, true}}, []bool{true, false, true, false, true}},
		"anywhere after alone":          {[]record{{0, 1, true}, {anywhere, 1, false}, {1, 1, false}}, []bool{true, false, true}},
		"alone after anywhere":          {[]record{{anywhere, 1, false}, {0, 1, true}, {0, 1, false}}, []bool{true, false, false}},
		"alone anywhere, first":         {[]record{{anywhere, 1, true}, {0, 1, false}, {anywhere, 1, false}, {1, 1, true}}, []bool{true, false, false, false}},
		"alone anywhere, behind":        {[]record{{0, 1, false}, {anywhere, 1, true}, {0, 1, false}}, []bool{true, false, true}},
		"anywhere counts everywhere":    {[]record{{anywhere, 60, false}, {0, 60, false}, {1, 40, false}, {anywhere, 1, false}}, []bool{true, false, true, false}},
		"anywhere beside the largest":   {[]record{{0, 60, false}, {1, 10, false}, {anywhere, 50, false}, {anywhere, 30, false}}, []bool{true, true, false, false}},
		"larger than the limit":         {[]record{{0, 200, true}, {0, 1, false}, {anywhere, 1, false}}, []bool{true, false, false}},
		"larger than the limit, second": {[]record{{0, 1, false}, {0, 200, true}, {0, 1, false}, {1, 200, true}}, []bool{true, false, false, true}},
	} {
		w := &wave{limit: 100, bytes: map[int32]int{}, shut: map[int32]bool{}}
		for i, r := range c.records {
			expect.Equal(t, w.take(r.partition, r.size, r.alone), c.goes[i], name, "record", i, "goes")
		}
	}
}

// TestClassified_S4_3 compares the numbers of classify with the client's own list: every error that Kafka calls
// retriable is transient, and no other, except for the errors of an instance that another one has replaced.
func TestClassified_S4_3_everyKafkaError(t *testing.T) {
	t.Parallel()
	replaced := map[string]bool{
		"ILLEGAL_GENERATION": true, "UNKNOWN_MEMBER_ID": true, "REBALANCE_IN_PROGRESS": true, "INVALID_PRODUCER_EPOCH": true,
		"CONCURRENT_TRANSACTIONS": true, "FENCED_INSTANCE_ID": true, "PRODUCER_FENCED": true,
	}
	of, known := Classified(classify.Of), 0
	for code := int16(-1); code < 300; code++ {
		broker, ok := kerr.ErrorForCode(code).(*kerr.Error) //nolint:errorlint // the list itself
		if !ok || broker.Code != code {
			continue // 0, and numbers that are not assigned
		}
		known++
		err := fmt.Errorf("produce: %w", broker)
		f := of(err)
		want := broker.Retriable || replaced[broker.Message]
		expect.That(t, f.Transient() == want, "%d %s: transient is %v, want %v", code, broker.Message, f.Transient(), want)
		if f.Err != err { //nolint:errorlint // the very same
			t.Errorf("%d: the failure holds %v", code, f.Err)
		}
	}
	expect.That(t, known >= 120, "the client knows only %d errors", known)
	expect.Equal(t, of(kgo.ErrRecordTimeout).Code, classify.CodeTimeout, "a record that timed out")
}
