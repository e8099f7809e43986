package kafka

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Pulse stores when the group's coordinator last answered a client of this instance.
type Pulse struct{ last atomic.Int64 } // Unix nanoseconds; 0 before the first answer

var _ kgo.HookBrokerE2E = (*Pulse)(nil)

// OnBrokerE2E observes every request and its answer.
func (p *Pulse) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if e2e.Err() != nil {
		return
	}
	switch kmsg.Key(key) {
	case kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup:
		p.last.Store(time.Now().UnixNano())
	default:
	}
}

// Silence returns how long the coordinator has not answered.
func (p *Pulse) Silence(now time.Time) time.Duration {
	last := p.last.Load()
	if last == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, last))
}
