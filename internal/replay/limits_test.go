package replay

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// gatedAnswers keeps the answers to one kind of request back until open is closed.
type gatedAnswers struct {
	key   int16
	asked chan struct{}
	open  chan struct{}
	once  sync.Once
}

var _ kgo.HookBrokerWrite = (*gatedAnswers)(nil)

// OnBrokerWrite waits behind the request.
func (g *gatedAnswers) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == g.key {
		g.once.Do(func() { close(g.asked) })
		<-g.open
	}
}

// S4-8: a call that asks what the output topic takes keeps no other call of the service waiting.
func TestOutputLimits_S4_8_holdNoOtherCallUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := &gatedAnswers{key: int16(kmsg.DescribeConfigs), asked: make(chan struct{}), open: make(chan struct{})}
	s := w.service(kgo.WithHooks(gate))
	first := make(chan struct{})
	go func() {
		s.outputLimits(w.ctx())
		close(first)
	}()
	<-gate.asked
	interrupted, cancel := context.WithCancel(w.ctx())
	cancel()
	second := make(chan struct{})
	go func() {
		s.outputLimits(interrupted)
		close(second)
	}()
	select {
	case <-second:
	case <-w.ctx().Done():
		t.Error("it waits for the first call")
	}
	close(gate.open)
	<-first
}
