package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// StartAt moves the start of each span of a topic to the first record with a timestamp of at or later. A span without
// such a record becomes empty.
func StartAt(ctx context.Context, client *kgo.Client, topic string, spans map[int32]Span, at time.Time) error {
	offsets, err := kadm.NewClient(client).ListOffsetsAfterMilli(ctx, at.UnixMilli(), topic)
	if err != nil {
		return fmt.Errorf("look up the time %s in %s: %w", at.Format(time.RFC3339), topic, err)
	}
	for p, span := range spans {
		if found, ok := offsets.Lookup(topic, p); ok && found.Err == nil && found.Offset > span.Start {
			spans[p] = Span{Start: min(found.Offset, span.End), End: span.End}
		}
	}
	return nil
}
