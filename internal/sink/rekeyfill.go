package sink

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// ByPath adds the row key to which a path leads from each record key in the guard.
func ByPath(path func(ctx context.Context, recordKey []byte) (guard, row []byte, err error)) Fill {
	return func(ctx context.Context, of *Guarded) error {
		return of.Each(ctx, func(old string) error {
			recordKey, err := RecordKey([]byte(old))
			if err != nil {
				return err
			}
			key, row, err := path(ctx, recordKey)
			if err != nil {
				return fmt.Errorf("key %q of the guard: %w", old, err)
			}
			return of.Add(ctx, old, string(key), string(row))
		})
	}
}

// ByOutput adds the feature's id, which is in a header of the last record of each key in the output topic.
func ByOutput(client *kgo.Client, topic string) Fill {
	return func(ctx context.Context, of *Guarded) error {
		spans, err := kafka.DecidedSpans(ctx, client, topic)
		if err != nil {
			return err
		}
		return kafka.Scan(ctx, client, topic, spans, func(r *kgo.Record) error { return addFeatureID(ctx, of, r) })
	}
}

// addFeatureID adds the feature id of an output record as the row key of its record key.
func addFeatureID(ctx context.Context, of *Guarded, r *kgo.Record) error {
	if r.Value == nil {
		return nil
	}
	for _, h := range r.Headers {
		if h.Key != header.KeyFeatureID || len(h.Value) == 0 {
			continue
		}
		if len(h.Value) >= header.MaxText {
			return fmt.Errorf("%s/%d/%d: the feature id may be cut in its header, which has at most %d bytes; make another table, and read the source again", r.Topic, r.Partition, r.Offset, header.MaxText)
		}
		key := string(GuardKey(r.Key))
		return of.Add(ctx, key, key, string(h.Value))
	}
	return nil
}
