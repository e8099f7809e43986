package kafka

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// defaultMaxMessage is Kafka's default of max.message.bytes, used if the cluster does not report a limit.
const defaultMaxMessage = 1048588

// minLimit is the least limit assumed for a topic that keeps refusing batches although its limit is unknown.
const minLimit = 16 << 10

// Limits has the largest batch that each topic accepts on the wire. A broker compares compressed bytes, so a record
// larger than the limit may still fit. Safe for concurrent use.
type Limits struct {
	compressor *recordbatch.Compressor

	mu        sync.RWMutex    // guards the following fields
	told      map[string]int  // by the cluster
	assumed   map[string]int  // for topics without a known limit that refused a batch within the default
	compacted map[string]bool // by the cluster: whether a topic is compacted and therefore needs keys
}

// NewLimits returns the limits of topics. The records of own topics are compressed to find out whether they fit.
func NewLimits(told Told, own []string) *Limits {
	l := &Limits{told: map[string]int{}, assumed: map[string]int{}, compacted: map[string]bool{}}
	l.Learn(told)
	smallest := 0
	for _, topic := range own {
		if limit, _ := l.Of(topic); smallest == 0 || limit < smallest {
			smallest = limit
		}
	}
	l.compressor = recordbatch.NewCompressor(smallest)
	return l
}

// Of returns a topic's limit. If the cluster has not reported it, the limit is an assumption for making batches, and
// no reason to refuse a record.
func (l *Limits) Of(topic string) (bytes int, told bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if n, ok := l.told[topic]; ok {
		return n, true
	}
	if n, ok := l.assumed[topic]; ok {
		return n, false
	}
	return defaultMaxMessage, false
}

// Compacts reports whether a topic is compacted, as far as the cluster has reported it.
func (l *Limits) Compacts(topic string) (compacted, told bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	compacted, told = l.compacted[topic]
	return compacted, told
}

// Learn stores the limits that the cluster reports now.
func (l *Limits) Learn(told Told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.told, told.Bytes)
	maps.Copy(l.compacted, told.compacted)
}

// Refused records that a topic without a known limit refused a batch within the assumed limit.
func (l *Limits) Refused(topic string) {
	limit, told := l.Of(topic)
	if told {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.assumed[topic] = max(limit/2, minLimit)
}

// Compressor compresses like the client, to find out before sending whether a record fits.
func (l *Limits) Compressor() *recordbatch.Compressor { return l.compressor }

// Told has the limits that the cluster reports, by topic.
type Told struct {
	Bytes     map[string]int // of a batch
	compacted map[string]bool
}

// ReadLimits asks the cluster for the limits of topics.
func ReadLimits(ctx context.Context, adm *kadm.Client, topics []string) (told Told, err error) {
	configs, err := adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return Told{}, err
	}
	told = Told{map[string]int{}, map[string]bool{}}
	for _, topic := range configs {
		if n, ok := Number(topic.Configs, "max.message.bytes"); ok {
			told.Bytes[topic.Name] = n
		}
		for _, c := range topic.Configs {
			if c.Key == "cleanup.policy" && c.Value != nil {
				told.compacted[topic.Name] = strings.Contains(*c.Value, "compact")
			}
		}
	}
	return told, nil
}

// Number returns a positive number from settings.
func Number(configs []kadm.Config, key string) (int, bool) {
	for _, c := range configs {
		if c.Key == key && c.Value != nil {
			n, err := strconv.Atoi(*c.Value)
			return n, err == nil && n > 0
		}
	}
	return 0, false
}
