package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Sending produces the records of one transaction. The client's batch limit is the limit of a single record, which
// may far exceed what the topic accepts uncompressed. So Sending makes the batches itself, in waves: each wave sends
// a partition no more than its topic accepts. A larger record, or one suspected of causing a refusal, has a wave of
// its partition to itself.
type Sending struct {
	client      *kgo.Client
	limits      *Limits
	partitioner *Partitioner
	suspects    map[*kgo.Record]bool

	mu     sync.Mutex       // guards failed and topics
	failed []Refusal        // records that the broker refused because of their content
	topics map[string]error // by topic: the first error that may not recur
}

// NewSending prepares a transaction's records. suspects are records of which one may have caused an earlier refusal.
func NewSending(client *kgo.Client, limits *Limits, partitioner *Partitioner, suspects map[*kgo.Record]bool) *Sending {
	return &Sending{client: client, limits: limits, partitioner: partitioner, suspects: suspects, topics: map[string]error{}}
}

// Refusal is a record that the broker refused because of its content.
type Refusal struct {
	Record *kgo.Record
	Alone  bool // alone in its batch, so it is the cause
	Err    error
}

// Send produces records and waits until the broker has answered for each. It keeps the order within a partition.
func (s *Sending) Send(ctx context.Context, records []*kgo.Record) error {
	waves := map[string]*wave{}
	for len(records) > 0 {
		clear(waves)
		var later []*kgo.Record
		for _, r := range records {
			w := waves[r.Topic]
			if w == nil {
				w = &wave{bytes: map[int32]int{}, shut: map[int32]bool{}}
				w.limit, _ = s.limits.Of(r.Topic)
				waves[r.Topic] = w
			}
			size := recordbatch.Bytes(r)
			alone := size > w.limit || s.suspects[r]
			if !w.take(s.partitioner.partition(r), size, alone) {
				later = append(later, r)
				continue
			}
			s.client.Produce(ctx, r, s.promise(alone))
		}
		if err := s.client.Flush(ctx); err != nil {
			return fmt.Errorf("flush transaction: %w", err)
		}
		if s.Broken() {
			return nil // the transaction is aborted anyway
		}
		records = later
	}
	return nil
}

// wave is what one topic receives at once. A record that may go to any partition may join any batch, so it counts for
// each of them.
type wave struct {
	limit int            // of a batch
	bytes map[int32]int  // by partition; records under unknownPartition may be in any
	most  int            // of a known partition
	shut  map[int32]bool // later records must not overtake one that waits for a later wave
	lone  bool           // a record has a known partition to itself
	only  bool           // a record that may go to any partition has the topic to itself
}

// take reports whether a record joins the wave. A record that must be alone is alone in its batch. The first one always
// joins.
func (w *wave) take(partition int32, size int, alone bool) bool {
	if !w.fits(partition, size, alone) {
		w.shut[partition] = true
		return false
	}
	w.bytes[partition] += size
	switch anywhere := partition == unknownPartition; {
	case alone && anywhere:
		w.only = true
	case alone:
		w.lone, w.shut[partition] = true, true
	}
	if partition != unknownPartition {
		w.most = max(w.most, w.bytes[partition])
	}
	return true
}

func (w *wave) fits(partition int32, size int, alone bool) bool {
	loose, some := w.bytes[unknownPartition]
	switch sent, begun := w.bytes[partition]; {
	case len(w.bytes) == 0:
		return true
	case w.only || w.shut[partition]:
		return false
	case partition == unknownPartition:
		return !alone && !w.lone && sent+size+w.most <= w.limit
	case alone:
		return !begun && !some
	default:
		return !begun && !some || sent+size+loose <= w.limit
	}
}

func (s *Sending) promise(alone bool) func(*kgo.Record, error) {
	if alone {
		return s.answeredAlone
	}
	return s.answered
}

func (s *Sending) answered(r *kgo.Record, err error)      { s.answer(r, err, false) }
func (s *Sending) answeredAlone(r *kgo.Record, err error) { s.answer(r, err, true) }

func (s *Sending) answer(r *kgo.Record, err error, alone bool) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusedForItself(err) {
		s.failed = append(s.failed, Refusal{r, alone, err})
		return
	}
	s.FailAt(r.Topic, fmt.Errorf("produce to %s: %w", r.Topic, err))
}

// Refusals returns the records that the broker refused because of their content. All answers must have arrived.
func (s *Sending) Refusals() []Refusal { return s.failed }

// Topics returns the topics whose records were not accepted, with the first error of each. All answers must have
// arrived.
func (s *Sending) Topics() map[string]error { return s.topics }

// FailAt records the failure of a topic; it ignores later failures of the topic. The mutex is held, or all answers
// have arrived.
func (s *Sending) FailAt(topic string, err error) {
	if s.topics[topic] == nil {
		s.topics[topic] = err
	}
}

// Failure returns the errors that may not recur, or nil. All answers must have arrived.
func (s *Sending) Failure() error {
	var all []error
	for _, topic := range slices.Sorted(maps.Keys(s.topics)) {
		all = append(all, s.topics[topic])
	}
	return errors.Join(all...)
}

// Broken reports whether something was refused. The transaction must then be aborted.
func (s *Sending) Broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.topics) > 0 || len(s.failed) > 0
}

// refusedForItself reports whether the broker would always refuse the same batch.
func refusedForItself(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
		errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTimestamp)
}
