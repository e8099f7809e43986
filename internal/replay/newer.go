package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// newerEvents knows, for keys of dead letters, the newest event that took effect: a letter that is older
// will be closed by the consumer as superseded (latest wins). nil knows nothing.
type newerEvents map[idKey]retrytopics.Version

// newerEvents reads the consumer's state topic. Where events are ordered by a field of theirs, only the
// consumer can say which is newer, and the plan makes no prediction.
func (s *Service) newerEvents(ctx context.Context) (newerEvents, error) {
	if s.cfg.Ordering.Mode != config.OrderingLatestWins || s.cfg.Source.Version != "" {
		return nil, nil
	}
	spans, err := deadletters.Spans(ctx, s.client, s.cfg.Topics.State)
	if errors.Is(err, deadletters.ErrNoTopic) {
		return nil, nil // no consumer has run yet
	}
	if err != nil {
		return nil, err
	}
	newer := newerEvents{}
	err = deadletters.Scan(ctx, s.client, s.cfg.Topics.State, spans, func(r *kgo.Record) error {
		key := keyOf(string(r.Key))
		v, ok, err := retrytopics.AppliedVersion(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if !ok {
			delete(newer, key)
			return nil
		}
		newer[key] = v
		return nil
	})
	return newer, err
}

// than reports whether an event newer than the letter has taken effect for its key.
func (n newerEvents) than(l *deadletters.Letter) bool {
	source, known := l.Source()
	if !known || l.Key == nil {
		return false
	}
	newest, ok := n[keyOf(string(l.Key))]
	return ok && retrytopics.Version{Offset: source.Offset}.Less(newest)
}
