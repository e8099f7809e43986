package world

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// finished has the positions whose end a process has seen committed.
type finished struct {
	mu          sync.Mutex
	byPartition map[topicPartition]map[int64]struct{} // offsets
}

func newFinished() *finished { return &finished{byPartition: map[topicPartition]map[int64]struct{}{}} }

func (f *finished) add(events []*retrytopics.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		at := e.Record.Position
		l := topicPartition{at.Topic, at.Partition}
		if f.byPartition[l] == nil {
			f.byPartition[l] = map[int64]struct{}{}
		}
		f.byPartition[l][at.Offset] = struct{}{}
	}
}

// forget removes the positions in a topic.
func (f *finished) forget(topic string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.byPartition, func(l topicPartition, _ map[int64]struct{}) bool { return l.topic == topic })
}

func (f *finished) has(r *kgo.Record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.byPartition[topicPartition{r.Topic, r.Partition}][r.Offset]
	return known
}

// held counts the records in a process: its client has returned them to the engine, and they are not committed. It
// reads the client and the commits, not the engine.
type held struct {
	finished *finished // by any process

	mu          sync.Mutex
	member      *kgo.Client                           // the client in the group
	byPartition map[topicPartition]map[int64]struct{} // offsets
	now         int
	peak        int
}

type topicPartition struct {
	topic     string
	partition int32
}

func newHeld(f *finished) *held {
	return &held{finished: f, byPartition: map[topicPartition]map[int64]struct{}{}}
}

// OnNewClient is kgo.HookNewClient. A new member of the group reads the uncommitted records of its predecessor again.
// The process may never learn whether the last commit of the predecessor succeeded.
func (h *held) OnNewClient(c *kgo.Client) {
	if group, _ := c.OptValue(kgo.ConsumerGroup).(string); group != "" {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.member, h.byPartition, h.now = c, map[topicPartition]map[int64]struct{}{}, 0
	}
}

// OnFetchRecordUnbuffered is kgo.HookFetchRecordUnbuffered. A record that is read again, after an abort or a rebalance,
// counts once. A record that was finished ahead of the group's position does not count again. Records that the client
// drops because their partition is paused are "polled", too, and do not count; nor do records of the memory.
func (h *held) OnFetchRecordUnbuffered(r *kgo.Record, polled bool) {
	if !polled || r.Attrs.IsControl() || r.Topic != Source && !strings.HasPrefix(r.Topic, tierPrefix) || h.finished.has(r) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.member == nil || slices.Contains(h.member.PauseFetchPartitions(nil)[r.Topic], r.Partition) {
		return
	}
	l := topicPartition{r.Topic, r.Partition}
	offsets := h.byPartition[l]
	if offsets == nil {
		offsets = map[int64]struct{}{}
		h.byPartition[l] = offsets
	}
	if _, again := offsets[r.Offset]; !again {
		offsets[r.Offset] = struct{}{}
		h.now++
		h.peak = max(h.peak, h.now)
	}
}

func (h *held) committed(events []*retrytopics.Event) {
	h.finished.add(events)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		at := e.Record.Position
		offsets := h.byPartition[topicPartition{at.Topic, at.Partition}]
		if _, known := offsets[at.Offset]; known {
			delete(offsets, at.Offset)
			h.now--
		}
	}
}

// keep removes the records of partitions that the process no longer owns.
func (h *held) keep(owned func(topic string, partition int32) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l, offsets := range h.byPartition {
		if !owned(l.topic, l.partition) {
			h.now -= len(offsets)
			delete(h.byPartition, l)
		}
	}
}

func (h *held) largest() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.peak
}
