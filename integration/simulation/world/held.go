package world

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// held follows how many records a process holds: those that its client gave to the engine and that are not committed. It
// asks the client and the commits, not the engine.
type held struct {
	mu    sync.Mutex
	lanes map[lane]map[int64]struct{} // offsets
	now   int
	peak  int
}

type lane struct {
	topic     string
	partition int32
}

func newHeld() *held { return &held{lanes: map[lane]map[int64]struct{}{}} }

// OnFetchRecordUnbuffered is kgo.HookFetchRecordUnbuffered. A record that comes again, after an abort or a rebalance, counts
// once.
func (h *held) OnFetchRecordUnbuffered(r *kgo.Record, polled bool) {
	if !polled || r.Attrs.IsControl() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := lane{r.Topic, r.Partition}
	offsets := h.lanes[l]
	if offsets == nil {
		offsets = map[int64]struct{}{}
		h.lanes[l] = offsets
	}
	if _, again := offsets[r.Offset]; !again {
		offsets[r.Offset] = struct{}{}
		h.now++
		h.peak = max(h.peak, h.now)
	}
}

func (h *held) committed(events []*retrytopics.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		at := e.Record.Position
		offsets := h.lanes[lane{at.Topic, at.Partition}]
		if _, known := offsets[at.Offset]; known {
			delete(offsets, at.Offset)
			h.now--
		}
	}
}

// keep forgets what lies in partitions that the process does not own any more.
func (h *held) keep(owned func(topic string, partition int32) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l, offsets := range h.lanes {
		if !owned(l.topic, l.partition) {
			h.now -= len(offsets)
			delete(h.lanes, l)
		}
	}
}

func (h *held) most() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.peak
}
