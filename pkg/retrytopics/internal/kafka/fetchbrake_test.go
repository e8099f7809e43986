package kafka

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S4-14: fetches that are answered at once, and with nothing, are slowed. A batch, a broker that waits for records, or an error
// ends the brake.
func TestFetchBrake_S4_14_slowsEmptyFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := kgo.BrokerMetadata{NodeID: 1}
		for name, end := range map[string]func(*FetchBrake){
			"batch": func(b *FetchBrake) { b.OnFetchBatchRead(broker, "t", 0, kgo.FetchBatchMetrics{}) },
			"idle":  func(b *FetchBrake) { b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, fetchIdle, nil) },
			"error": func(b *FetchBrake) { b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, 0, errors.New("connection lost")) },
		} {
			var b FetchBrake
			begin := time.Now()
			for range fetchRun + 5 {
				b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, time.Millisecond, nil)
				b.OnBrokerRead(kgo.BrokerMetadata{NodeID: 2}, int16(kmsg.Metadata), 0, 0, 0, nil)
			}
			if took := time.Since(begin); took != 5*emptyFetchPause { // virtual time
				t.Errorf("%s: empty fetches rest for %v, want %v", name, took, 5*emptyFetchPause)
			}
			end(&b)
			begin = time.Now()
			b.OnBrokerRead(broker, int16(kmsg.Fetch), 0, 0, time.Millisecond, nil)
			expect.Equal(t, time.Since(begin), 0, name, "the next fetch rests for")
		}
	})
}
