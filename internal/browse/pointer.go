package browse

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
)

// pointer reports whether a letter only says where the record lies that failed.
func pointer(l *deadletters.Letter) bool {
	return l.Dialect == dialects.ShareGroup && l.Size == 0 && l.Key == nil && l.Control.HasSource
}

// follow gives a pointer the key, the value and the headers of the record that it points at. A
// record that is gone is said among the letter's problems.
func (s *Service) follow(ctx context.Context, l *deadletters.Letter) error {
	if l.Content == nil || !pointer(l) {
		return nil
	}
	at := l.Control.Source
	spans, err := deadletters.Spans(ctx, s.client, at.Topic)
	if errors.Is(err, deadletters.ErrNoTopic) {
		l.Problems = append(l.Problems, fmt.Sprintf("the payload is gone: topic %s does not exist", at.Topic))
		return nil
	}
	if err != nil {
		return err
	}
	found, span := false, spans[at.Partition]
	if span.Start <= at.Offset && at.Offset < span.End {
		one := map[int32]deadletters.Span{at.Partition: {Start: at.Offset, End: at.Offset + 1}}
		err = deadletters.Scan(ctx, s.client, at.Topic, one, func(r *kgo.Record) error {
			found = true
			l.Key, l.Size = r.Key, len(r.Value)
			l.Content = &deadletters.Content{Value: r.Value, Headers: append(r.Headers, l.Content.Headers...)}
			return nil
		})
	}
	if err == nil && !found {
		l.Problems = append(l.Problems, fmt.Sprintf("the payload is gone: %s was deleted or compacted (the log starts at offset %d)", at, span.Start))
	}
	return err
}
