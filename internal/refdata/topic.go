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

// topicSet is a reference set in a compacted topic. A record's key is a key of
// the set, or, when the reference names a column, what this member of its value
// holds; a tombstone takes it away.
type topicSet struct {
	transform.Reference
	kafka []kgo.Opt

	mu      sync.RWMutex
	keys    map[string]int    // how many records give each key
	records map[string]string // the key that a record gives, by the record's own; only with a column

	next map[int32]int64 // where each partition is read on; of one goroutine, nil before the first reading
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

// apply takes one record in. One that gives no key that can be read changes
// nothing.
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
	client, err := s.client(kgo.NewOffset().AtStart())
	if err != nil {
		return err
	}
	defer client.Close()
	left, err := s.spans(ctx, kadm.NewClient(client))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.keys, s.records = map[string]int{}, map[string]string{}
	s.mu.Unlock()
	next := map[int32]int64{}
	for p, span := range left {
		if next[p] = span[0]; span[0] >= span[1] {
			delete(left, p)
		}
	}
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for r := range fetches.RecordsAll() {
			if next[r.Partition] = r.Offset + 1; r.Offset+1 >= left[r.Partition][1] {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() {
				continue
			}
			if err := s.apply(r); err != nil {
				return err
			}
		}
	}
	if s.len() == 0 {
		return fmt.Errorf("no key in the topic %s; a set without keys would refuse every record", s.Topic)
	}
	s.next = next
	return nil
}

// client reads every partition of the topic from an offset; by partition where
// next knows one.
func (s *topicSet) client(from kgo.Offset) (*kgo.Client, error) {
	opts := slices.Concat(s.kafka, []kgo.Opt{
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // the end of the topic may be a transaction's marker
		kgo.FetchMaxWait(500 * time.Millisecond),
	})
	if s.next == nil {
		return kgo.NewClient(append(opts, kgo.ConsumeTopics(s.Topic), kgo.ConsumeStartOffset(from), kgo.ConsumeResetOffset(from))...)
	}
	at := map[int32]kgo.Offset{}
	for p, offset := range s.next {
		at[p] = kgo.NewOffset().At(offset)
	}
	return kgo.NewClient(append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.Topic: at}), kgo.ConsumeResetOffset(from))...)
}

// spans are the first offset of each partition and the one after its last
// committed record. The topic has to be there, and compacted: from another one
// keys would vanish with time.
func (s *topicSet) spans(ctx context.Context, admin *kadm.Client) (map[int32][2]int64, error) {
	configs, err := admin.DescribeTopicConfigs(ctx, s.Topic)
	if err == nil {
		err = cleanup(configs, s.Topic)
	}
	if err != nil && !errors.Is(err, kerr.TopicAuthorizationFailed) { // who may not see the settings is believed
		return nil, err
	}
	starts, err := admin.ListStartOffsets(ctx, s.Topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListCommittedOffsets(ctx, s.Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, err
	}
	spans := map[int32][2]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(s.Topic, end.Partition)
		spans[end.Partition] = [2]int64{start.Offset, end.Offset}
	})
	return spans, nil
}

// cleanup refuses a topic that is not there, or not compacted.
func cleanup(configs kadm.ResourceConfigs, topic string) error {
	found, err := configs.On(topic, nil)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(found.Err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("there is no topic %s; create it with cleanup.policy=compact, or correct its name", topic)
	case err != nil:
		return err
	case found.Err != nil:
		return found.Err
	}
	for _, setting := range found.Configs {
		if setting.Key == "cleanup.policy" && !strings.Contains(setting.MaybeValue(), "compact") {
			return fmt.Errorf("the topic %s has cleanup.policy=%s: keys would vanish with time; set it to compact", topic, setting.MaybeValue())
		}
	}
	return nil
}

// follow takes in what is written after the loading, until ctx ends.
func (s *topicSet) follow(ctx context.Context, report func(Reload)) {
	client, err := s.client(kgo.NewOffset().AtStart())
	if err != nil {
		report(s.reload(err))
		return
	}
	defer client.Close()
	said := ""
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		changed, err := s.take(fetches)
		switch {
		case err != nil && err.Error() != said:
			report(s.reload(err))
			said = err.Error()
		case err == nil && changed:
			report(s.reload(nil))
			said = ""
		}
		if err != nil { // the client tries again by itself, and not all the time
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}
}

// take takes in what was fetched, and says what was wrong with any of it.
func (s *topicSet) take(fetches kgo.Fetches) (changed bool, err error) {
	for _, fault := range fetches.Errors() {
		err = errors.Join(err, fmt.Errorf("%s/%d: %w", fault.Topic, fault.Partition, kafka.DeniedTopic("Read", s.Topic, fault.Err)))
	}
	for r := range fetches.RecordsAll() {
		s.next[r.Partition] = r.Offset + 1
		if r.Attrs.IsControl() {
			continue
		}
		changed = true
		err = errors.Join(err, s.apply(r))
	}
	return changed, err
}

func (s *topicSet) reload(err error) Reload {
	return Reload{Name: s.Name, From: "topic " + s.Topic, Keys: s.len(), Err: err}
}
