package kafka

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// fetchRun is how many consecutive fetches a broker may answer at once without a batch before the next ones wait. A
	// new session has a few.
	fetchRun = 32
	// emptyFetchPause is how long each further fetch waits.
	emptyFetchPause = 100 * time.Millisecond
	// fetchIdle is the least time after which a broker answers that it has nothing new. A faster answer is immediate.
	fetchIdle = 20 * time.Millisecond
)

// fetchBrake slows down a client whose fetches a broker answers at once and without records. The client backs off
// from most errors, but not from all. A partition of which it has read nothing yet, and whose leader has a newer
// epoch than the client knows (FENCED_LEADER_EPOCH), is fetched a thousand times a second until the client refreshes
// its metadata, some seconds after an outage (franz-go 1.22.2, source.handleReqResp; simulated world 14990). The
// session cannot pause such a partition, because it never sees the error.
//
// The hooks run on the goroutine that reads fetch responses of one connection and does nothing else; each broker has
// its own.
type fetchBrake struct {
	mu    sync.Mutex // guards empty
	empty map[int32]int
}

var (
	_ kgo.HookBrokerRead     = (*fetchBrake)(nil)
	_ kgo.HookFetchBatchRead = (*fetchBrake)(nil)
)

// OnBrokerRead waits after too many immediate answers.
func (b *fetchBrake) OnBrokerRead(broker kgo.BrokerMetadata, key int16, _ int, _, took time.Duration, err error) {
	if key == int16(kmsg.Fetch) && b.count(broker.NodeID, took, err) > fetchRun {
		<-time.After(emptyFetchPause) // a hook has no context; the client closes the connection first, and the rest is short
	}
}

// OnFetchBatchRead records that a broker sent something, even if only a transaction marker.
func (b *fetchBrake) OnFetchBatchRead(broker kgo.BrokerMetadata, _ string, _ int32, _ kgo.FetchBatchMetrics) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.empty, broker.NodeID)
}

// count returns how many consecutive answers were immediate and empty. After a connection error the client waits by
// itself.
func (b *fetchBrake) count(broker int32, took time.Duration, err error) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || took >= fetchIdle {
		delete(b.empty, broker)
		return 0
	}
	if b.empty == nil {
		b.empty = map[int32]int{}
	}
	b.empty[broker]++
	return b.empty[broker]
}
