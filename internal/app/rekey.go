package app

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Rekey takes the table of a pipeline to the sink.key of its file. What a path leads to is in the record keys, which the guard has. Feature ids
// are in the output topic, by which a key has the one of its last record. Nothing stays changed without execute.
func Rekey(ctx context.Context, cfg *config.Config, client *kgo.Client, execute bool) (sink.Rekeyed, error) {
	fill := func(ctx context.Context, of *sink.Guarded) error { return fillByOutput(ctx, cfg, client, of) }
	if _, byPath := cfg.Sink.Key.Path(); byPath {
		work, err := pipeline.NewMapping(cfg)
		if err != nil {
			return sink.Rekeyed{}, err
		}
		fill = func(ctx context.Context, of *sink.Guarded) error { return fillByPath(ctx, work, of) }
	}
	return sink.Rekey(ctx, cfg, sink.Rekeying{Fill: fill, Execute: execute})
}

func fillByPath(ctx context.Context, work *pipeline.Mapping, of *sink.Guarded) error {
	return of.Each(ctx, func(old string) error {
		recordKey, err := sink.RecordKey([]byte(old))
		if err != nil {
			return err
		}
		key, row, err := work.KeyPath(ctx, recordKey)
		if err != nil {
			return fmt.Errorf("key %q of the guard: %w", old, err)
		}
		return of.Add(ctx, old, string(key), string(row))
	})
}

func fillByOutput(ctx context.Context, cfg *config.Config, client *kgo.Client, of *sink.Guarded) error {
	spans, err := kafka.DecidedSpans(ctx, client, cfg.Output.Topic)
	if err != nil {
		return err
	}
	return kafka.Scan(ctx, client, cfg.Output.Topic, spans, func(r *kgo.Record) error {
		if r.Value == nil {
			return nil
		}
		for _, h := range r.Headers {
			if h.Key == retrytopics.HeaderFeatureID && len(h.Value) > 0 {
				if len(h.Value) >= retrytopics.MaxHeaderText {
					return fmt.Errorf("%s/%d/%d: the feature id may be cut in its header, which has at most %d bytes; make another table, and read the source again", r.Topic, r.Partition, r.Offset, retrytopics.MaxHeaderText)
				}
				key := string(sink.GuardKey(r.Key))
				return of.Add(ctx, key, key, string(h.Value))
			}
		}
		return nil
	})
}
