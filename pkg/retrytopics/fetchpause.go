package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// fetchPause is how long a partition is not read after its fetch failed. Brokers answer such a fetch at once (for
	// example if the topic was deleted), and the client would ask again at once: thousands of requests a second.
	fetchPause = time.Second
	// fetchTold is how often the failing fetches of a partition are logged.
	fetchTold = time.Minute
)

// pauseFetch pauses one partition whose fetch failed, until balance resumes it.
func (s *session) pauseFetch(ctx context.Context, fe kgo.FetchError) {
	now, tell := time.Now(), true
	s.mu.Lock()
	if l := s.partitions[topicPartition{fe.Topic, fe.Partition}]; l != nil {
		tell = now.Sub(l.fetchTold) >= fetchTold
		if tell {
			l.fetchTold = now
		}
		l.paused, l.fetchAt = true, now.Add(fetchPause)
		s.committer.Client().PauseFetchPartitions(map[string][]int32{fe.Topic: {fe.Partition}})
	}
	s.mu.Unlock()
	if tell {
		s.e.cfg.Logger.WarnContext(ctx, "fetch failed, will be tried again", "topic", fe.Topic, "partition", fe.Partition, "every", fetchPause, "error", fe.Err)
	}
}
