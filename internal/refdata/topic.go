package refdata

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// topicSet is a reference set in a compacted topic. A key of the set is the key of a record or, if the reference names a column, that member
// of its value. A tombstone removes it.
type topicSet struct {
	transform.Reference
	kafka []kgo.Opt

	mu      sync.RWMutex
	keys    map[string]int    // number of records with each key
	records map[string]string // the key of the set by record key; only with a column

	next map[int32]int64 // next offset of each partition, after load
}

// Has reports whether the set has a key.
func (s *topicSet) Has(key string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.keys[key] > 0
}

func (s *topicSet) len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.keys)
}

// apply applies one record. A record without a readable key changes nothing.
func (s *topicSet) apply(r *kgo.Record) error {
	key := string(r.Key)
	if s.Column != "" && r.Value != nil {
		var err error
		if key, err = keyOf(r.Value, s.Column); err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		key = strings.Clone(key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Column == "" {
		if delete(s.keys, key); r.Value != nil && key != "" {
			s.keys[key] = 1
		}
		return s.tooMany()
	}
	if old, known := s.records[string(r.Key)]; known {
		delete(s.records, string(r.Key))
		if s.keys[old]--; s.keys[old] == 0 {
			delete(s.keys, old)
		}
	}
	if r.Value != nil && key != "" {
		s.records[string(r.Key)] = key
		s.keys[key]++
	}
	return s.tooMany()
}

func (s *topicSet) tooMany() error {
	if len(s.keys) > maxKeys {
		return errTooMany
	}
	return nil
}

// load reads the topic to its end.
func (s *topicSet) load(ctx context.Context) error {
	client, err := kgo.NewClient(s.kafka...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := s.compacted(ctx, kadm.NewClient(client)); err != nil {
		return err
	}
	spans, err := kafka.Spans(ctx, client, s.Topic)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.keys, s.records = map[string]int{}, map[string]string{}
	s.mu.Unlock()
	if err := kafka.Scan(ctx, client, s.Topic, spans, s.apply); err != nil {
		return err
	}
	if s.len() == 0 {
		return fmt.Errorf("no key in the topic %s; a set without keys would refuse every record", s.Topic)
	}
	s.next = map[int32]int64{}
	for p, span := range spans {
		s.next[p] = span.End
	}
	return nil
}

// compacted refuses a topic that does not exist, or that is not compacted: keys would vanish from it with time.
func (s *topicSet) compacted(ctx context.Context, admin *kadm.Client) error {
	settings, err := kafka.Settings(ctx, admin, s.Topic)
	policy, known := settings["cleanup.policy"]
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("there is no topic %s; create it with cleanup.policy=compact, or correct its name", s.Topic)
	case errors.Is(err, kerr.TopicAuthorizationFailed): // without that permission the topic counts as compacted
		return nil
	case err != nil:
		return err
	case known && !strings.Contains(policy, "compact"):
		return fmt.Errorf("the topic %s has cleanup.policy=%s: keys would vanish with time; set it to compact", s.Topic, policy)
	}
	return nil
}

// client returns a client that continues where load ended.
func (s *topicSet) client() (*kgo.Client, error) {
	at := map[int32]kgo.Offset{}
	for p, offset := range s.next {
		at[p] = kgo.NewOffset().At(offset)
	}
	return kgo.NewClient(slices.Concat(s.kafka, []kgo.Opt{
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.Topic: at}), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	})...)
}

// follow applies the records that are written after load, until ctx ends.
func (s *topicSet) follow(ctx context.Context, report func(Reload)) {
	client, err := s.client()
	if err != nil {
		report(s.reload(err))
		return
	}
	defer client.Close()
	logged := ""
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		changed, err := s.take(fetches)
		switch {
		case err != nil && err.Error() != logged:
			report(s.reload(err))
			logged = err.Error()
		case err == nil && changed:
			report(s.reload(nil))
			logged = ""
		}
		if err != nil && kafka.Pause(ctx, time.Second) != nil { // the client tries again on its own; this bounds how often
			return
		}
	}
}

// take applies fetched records, and returns the faults of any of them.
func (s *topicSet) take(fetches kgo.Fetches) (changed bool, err error) {
	for _, fault := range fetches.Errors() {
		err = errors.Join(err, fmt.Errorf("%s/%d: %w", fault.Topic, fault.Partition, kafka.DeniedTopic("Read", s.Topic, fault.Err)))
	}
	for r := range fetches.RecordsAll() {
		changed = true
		err = errors.Join(err, s.apply(r))
	}
	return changed, err
}

func (s *topicSet) reload(err error) Reload {
	return Reload{Name: s.Name, From: "topic " + s.Topic, Keys: s.len(), Err: err}
}
