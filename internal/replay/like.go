package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/jsonschema"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

// These limits bound how much of a topic is read to derive a schema from its values.
const (
	likeRecords = 1000
	likeBytes   = 16 << 20
)

// findLike derives a schema from the newest values of the topic that a rewrite names, and stores it in the spec, so
// that the plan contains it.
func (s *Service) findLike(ctx context.Context, spec *rewrite.Spec) error {
	if spec.Like == "" || !s.alone {
		return nil
	}
	spans, err := kafka.Spans(ctx, s.client, spec.Like)
	if errors.Is(err, kafka.ErrNoTopic) {
		err = fmt.Errorf("%w: --like: there is no topic %s", operation.ErrOptions, spec.Like)
	}
	if err != nil {
		return err
	}
	for p, span := range spans {
		spans[p] = kafka.Span{Start: max(span.Start, span.End-max(likeRecords/int64(len(spans)), 1)), End: span.End}
	}
	var guess jsonschema.Guess
	enough, read := errors.New("enough"), 0
	spec.LikeRecords = 0
	err = kafka.ScanWith(ctx, s.client, spec.Like, spans, 0, func(r *kgo.Record) error {
		if read += len(r.Value); read > likeBytes {
			return enough
		}
		if r.Value == nil {
			return nil
		}
		doc, err := s.document(ctx, r.Value)
		if errors.Is(err, ErrRegistry) {
			return err
		}
		if err == nil && guess.Add(doc.JSON) {
			spec.LikeRecords++
		}
		return nil
	}, func(*recordbatch.Large) error { return nil })
	if err != nil && !errors.Is(err, enough) {
		return err
	}
	if spec.LikeRecords == 0 {
		return fmt.Errorf("%w: --like: none of the newest records of %s is JSON or can be decoded with --registry; there is nothing to compare with", operation.ErrOptions, spec.Like)
	}
	spec.Schema, err = guess.Schema()
	return err
}
