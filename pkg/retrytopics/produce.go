package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/batch"
)

// sending produces the records of one transaction. The client's bound of a batch is that of a single record, which may be
// far beyond what its topic takes uncompressed, so the batches are made here: in waves, each of which brings a partition
// no more than its topic takes. A record that is larger, or that is suspected of being what the broker refuses, has a
// wave of its partition for itself.
type sending struct {
	client   *kgo.Client
	sizes    *sizes
	place    *partitioner
	suspects map[*kgo.Record]bool

	mu     sync.Mutex
	failed []refusal
	topics map[string]error // by topic: the first error that another try may not meet
}

// refusal is a record that the broker refused for what it is.
type refusal struct {
	record *kgo.Record
	alone  bool // in its batch: it is to blame
	err    error
}

// send produces records and waits until the broker has answered for each. The order within a partition is kept.
func (s *sending) send(ctx context.Context, records []*kgo.Record) error {
	bytes := map[topicPartition]int{} // of the wave
	for len(records) > 0 {
		clear(bytes)
		var later []*kgo.Record
		for _, r := range records {
			to := topicPartition{r.Topic, s.place.partition(r)}
			limit, _ := s.sizes.limit(r.Topic)
			size := batch.Bytes(r)
			alone := size > limit || s.suspects[r]
			sent, begun := bytes[to]
			if begun && (alone || sent+size > limit) {
				later = append(later, r)
				bytes[to] = limit // what follows must not overtake it
				continue
			}
			bytes[to] = sent + size
			if alone {
				bytes[to] = limit
			}
			s.client.Produce(ctx, r, s.promise(alone))
		}
		if err := s.client.Flush(ctx); err != nil {
			return fmt.Errorf("flush transaction: %w", err)
		}
		if s.broken() {
			return nil // the transaction is aborted anyway
		}
		records = later
	}
	return nil
}

func (s *sending) promise(alone bool) func(*kgo.Record, error) {
	if alone {
		return s.answeredAlone
	}
	return s.answered
}

func (s *sending) answered(r *kgo.Record, err error)      { s.answer(r, err, false) }
func (s *sending) answeredAlone(r *kgo.Record, err error) { s.answer(r, err, true) }

func (s *sending) answer(r *kgo.Record, err error, alone bool) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusedForItself(err) {
		s.failed = append(s.failed, refusal{r, alone, err})
		return
	}
	s.failAt(r.Topic, fmt.Errorf("produce to %s: %w", r.Topic, err))
}

// failAt notes the failure of a topic. What follows it says the same. The mutex is held, or all answers are in.
func (s *sending) failAt(topic string, err error) {
	if s.topics[topic] == nil {
		s.topics[topic] = err
	}
}

// failure gives the errors that another try may not meet, nil when there are none. All answers must be in.
func (s *sending) failure() error {
	var all []error
	for _, topic := range slices.Sorted(maps.Keys(s.topics)) {
		all = append(all, s.topics[topic])
	}
	return errors.Join(all...)
}

func (s *sending) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.topics) > 0 || len(s.failed) > 0
}

// refusedForItself says whether the broker would refuse the same batch for ever.
func refusedForItself(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
		errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTimestamp)
}
