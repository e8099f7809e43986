package kafka

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// fetchRun is how many fetches of one broker may be answered at once without one batch before the next ones wait. A session that
	// begins has a few.
	fetchRun = 32
	// emptyFetchPause is how long each further one waits.
	emptyFetchPause = 100 * time.Millisecond
	// fetchIdle is the least time after which a broker answers that it has nothing new: less is an answer at once.
	fetchIdle = 20 * time.Millisecond
)

// FetchBrake slows a client that asks a broker again and again and is answered at once, with nothing. The client backs off by itself
// from most errors, not from all: a partition of which it has read nothing yet, and whose leader has a newer epoch than the client
// knows (FENCED_LEADER_EPOCH), is asked for a thousand times a second until the client reads metadata again, some seconds after an
// outage (franz-go 1.22.2, source.handleReqResp; simulated world 14990). The session cannot pause such a partition: it never learns
// of the error.
//
// The hooks run on the goroutine that reads fetch responses of one connection, and nothing else; each broker has its own.
type FetchBrake struct {
	mu    sync.Mutex // owns empty
	empty map[int32]int
}

var (
	_ kgo.HookBrokerRead     = (*FetchBrake)(nil)
	_ kgo.HookFetchBatchRead = (*FetchBrake)(nil)
)

// OnBrokerRead rests after too many answers at once.
func (b *FetchBrake) OnBrokerRead(broker kgo.BrokerMetadata, key int16, _ int, _, took time.Duration, err error) {
	if key == int16(kmsg.Fetch) && b.count(broker.NodeID, took, err) > fetchRun {
		<-time.After(emptyFetchPause) // a hook has no context; the client closes the connection first, and the rest is short
	}
}

// OnFetchBatchRead says that a broker had something, be it a marker of a transaction.
func (b *FetchBrake) OnFetchBatchRead(broker kgo.BrokerMetadata, _ string, _ int32, _ kgo.FetchBatchMetrics) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.empty, broker.NodeID)
}

// count gives how many answers in a row came at once and brought nothing so far. The client waits by itself after an error of the
// connection.
func (b *FetchBrake) count(broker int32, took time.Duration, err error) int {
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
