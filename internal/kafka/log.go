package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Log is the origin of records: a [Cluster], or files that stand for topics.
type Log interface {
	// Spans returns what can be read of each partition of a topic.
	Spans(ctx context.Context, topic string) (map[int32]Span, error)
	// Scan reads spans of a topic, as [ScanWith] does.
	Scan(ctx context.Context, topic string, spans map[int32]Span, fn func(*kgo.Record) error, large func(*recordbatch.Large) error) error
}

// Cluster is the [Log] of a cluster.
type Cluster struct{ Client *kgo.Client }

// Spans implements [Log].
func (c Cluster) Spans(ctx context.Context, topic string) (map[int32]Span, error) {
	return Spans(ctx, c.Client, topic)
}

// Scan implements [Log].
func (c Cluster) Scan(ctx context.Context, topic string, spans map[int32]Span, fn func(*kgo.Record) error, large func(*recordbatch.Large) error) error {
	return ScanWith(ctx, c.Client, topic, spans, 0, fn, large)
}
