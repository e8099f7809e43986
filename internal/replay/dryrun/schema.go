package dryrun

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

// Resolve stores in a rewrite what it takes from outside: the latest schema of a subject, and a schema derived from the
// newest values of a topic. The plan then contains both.
func (d *Runner) Resolve(ctx context.Context, spec *rewrite.Spec) error {
	if err := d.findSubject(ctx, spec); err != nil {
		return err
	}
	return d.deriveSchema(ctx, spec)
}

// These limits bound how much of a topic is read to derive a schema from its values.
const (
	likeRecords = 1000
	likeBytes   = 16 << 20
)

// deriveSchema derives a schema from the newest values of the topic that a rewrite names, and stores it in the spec, so
// that the plan contains it.
func (d *Runner) deriveSchema(ctx context.Context, spec *rewrite.Spec) error {
	if spec.Like == "" || !d.Alone {
		return nil
	}
	spans, err := kafka.Spans(ctx, d.Client, spec.Like)
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
	err = kafka.ScanWith(ctx, d.Client, spec.Like, spans, 0, func(r *kgo.Record) error {
		if read += len(r.Value); read > likeBytes {
			return enough
		}
		if r.Value == nil {
			return nil
		}
		doc, err := d.document(ctx, r.Value)
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

// findSubject stores the latest schema of the subject that a rewrite names in the spec, so that the plan contains it.
func (d *Runner) findSubject(ctx context.Context, spec *rewrite.Spec) (err error) {
	if spec.Subject != "" && d.Alone {
		spec.SchemaID, err = d.LatestSchema(ctx, spec.Subject)
	}
	return err
}

// LatestSchema returns the ID of the latest schema of a subject. It returns [ErrRegistry] if the registry does not
// answer, and otherwise [operation.ErrOptions].
func (d *Runner) LatestSchema(ctx context.Context, subject string) (id int, err error) {
	if !d.Config.SchemaRegistry.Enabled() {
		return 0, fmt.Errorf("%w: --subject %s: name the registry with --registry", operation.ErrOptions, subject)
	}
	id, err = d.Mapping.LatestSchema(ctx, subject)
	if err = registryFault(err); err != nil && !errors.Is(err, ErrRegistry) {
		err = fmt.Errorf("%w: --subject %s: %w", operation.ErrOptions, subject, err)
	}
	return id, err
}
