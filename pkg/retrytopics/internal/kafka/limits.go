package retrytopics

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// defaultMaxMessage is Kafka's default of max.message.bytes, assumed where the cluster does not tell.
const defaultMaxMessage = 1048588

// minLimit is the least that is assumed of a topic that keeps refusing batches without telling its limit.
const minLimit = 16 << 10

// sizes knows how large a batch each topic takes on the wire. A broker compares compressed bytes, so a record that is
// larger than the limit may fit all the same. Safe for concurrent use.
type sizes struct {
	compressor *recordbatch.Compressor

	mu        sync.RWMutex
	told      map[string]int  // by the cluster
	assumed   map[string]int  // where it does not tell, and has refused what fitted the default
	compacted map[string]bool // by the cluster: whether a topic is compacted, so that it takes no record without a key
}

func newSizes(told topicLimits, own []string) *sizes {
	s := &sizes{told: map[string]int{}, assumed: map[string]int{}, compacted: map[string]bool{}}
	s.learn(told)
	smallest := 0
	for _, topic := range own {
		if limit, _ := s.limit(topic); smallest == 0 || limit < smallest {
			smallest = limit
		}
	}
	s.compressor = recordbatch.NewCompressor(smallest)
	return s
}

// limit gives what a topic takes. When the cluster has not told it, it is an assumption to make batches by, and no reason
// to refuse a record.
func (s *sizes) limit(topic string) (bytes int, told bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if n, ok := s.told[topic]; ok {
		return n, true
	}
	if n, ok := s.assumed[topic]; ok {
		return n, false
	}
	return defaultMaxMessage, false
}

// compacts reports whether a topic is compacted, as far as the cluster has told it.
func (s *sizes) compacts(topic string) (compacted, told bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	compacted, told = s.compacted[topic]
	return compacted, told
}

// learn takes in what the cluster tells now.
func (s *sizes) learn(told topicLimits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.told, told.bytes)
	maps.Copy(s.compacted, told.compacted)
}

// refused notes that a topic that tells no limit has refused a batch within the assumed one.
func (s *sizes) refused(topic string) {
	limit, told := s.limit(topic)
	if told {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assumed[topic] = max(limit/2, minLimit)
}

// topicLimits are what topics take, by topic, as far as the cluster tells it.
type topicLimits struct {
	bytes     map[string]int // of a batch
	compacted map[string]bool
}

// readLimits asks the cluster for the limits of topics.
func readLimits(ctx context.Context, adm *kadm.Client, topics []string) (told topicLimits, err error) {
	configs, err := adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return topicLimits{}, err
	}
	told = topicLimits{map[string]int{}, map[string]bool{}}
	for _, topic := range configs {
		if n, ok := number(topic.Configs, "max.message.bytes"); ok {
			told.bytes[topic.Name] = n
		}
		for _, c := range topic.Configs {
			if c.Key == "cleanup.policy" && c.Value != nil {
				told.compacted[topic.Name] = strings.Contains(*c.Value, "compact")
			}
		}
	}
	return told, nil
}

// Bounds of memory, in bytes.
const (
	// fetchedBytes is how much of one fetch response is decompressed at once. A batch beyond it is read record by record.
	fetchedBytes = 16 << 20
	// largeRoom is what an output or a kept record may have on top of the largest record that is read: headers, and what the
	// mapping adds.
	largeRoom = 16 << 20
	// maxRecordBytes keeps a record and its room within what a client writes to a broker at once (100 MiB).
	maxRecordBytes = 80 << 20
)
