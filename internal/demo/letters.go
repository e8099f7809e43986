package demo

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// The demo reads its few dead letters itself. The index of the replayer would bring a SQL engine into every consumer.

// causes groups the dead letters of a DLQ by what they died of.
func causes(ctx context.Context, cl *kgo.Client, dlq string) ([]deadletters.Group, error) {
	var g deadletters.Grouping
	err := each(ctx, cl, dlq, func(l *deadletters.Letter) { g.Add(l) })
	return g.Groups(), err
}

// statuses counts the dead letters by what became of them. The status topic is read after the DLQ: a dead letter that is not in it
// is pending.
func statuses(ctx context.Context, cl *kgo.Client, topics config.Topics) (map[deadletters.Status]int, error) {
	became := map[string]deadletters.Status{}
	if err := each(ctx, cl, topics.DLQ, func(l *deadletters.Letter) { became[l.ID] = deadletters.Pending }); err != nil {
		return nil, err
	}
	spans, err := kafka.Spans(ctx, cl, topics.DLQStatus)
	if err != nil {
		return nil, err
	}
	err = deadletters.ScanStates(ctx, cl, topics.DLQStatus, spans, func(r *deadletters.StateRecord) error {
		if _, there := became[r.ID]; there && r.Err == nil && !r.Removed {
			became[r.ID] = r.State.Status
		}
		return r.Err
	})
	counts := map[deadletters.Status]int{}
	for _, status := range became {
		counts[status]++
	}
	return counts, err
}

func each(ctx context.Context, cl *kgo.Client, dlq string, fn func(*deadletters.Letter)) error {
	spans, err := kafka.Spans(ctx, cl, dlq)
	if err != nil {
		return err
	}
	return deadletters.Reading{}.Letters(ctx, cl, dlq, spans, func(l *deadletters.Letter) error {
		fn(l)
		return nil
	})
}
