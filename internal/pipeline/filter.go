package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// FilterOptions set how lines are read and features written.
type FilterOptions struct {
	// Handle is the pipeline's handler. Mandatory.
	Handle retrytopics.Handler

	// Headers are the headers of each record made from a line; see [FormatHeaders].
	Headers []kgo.RecordHeader

	// MaxLine bounds one line in bytes; a longer one is rejected and not kept in memory. Mandatory: the pipeline's
	// source.max_record_bytes.
	MaxLine int

	// Meta adds a member "switchback" to each feature: feature_id, content_hash and version, as the pipeline would set them.
	Meta bool
}

// FilterSummary counts the lines; blank lines do not count.
type FilterSummary struct {
	Read     int `json:"read"`
	Passed   int `json:"passed"`
	Rejected int `json:"rejected"` // lines of which at least one feature was rejected
	Left     int `json:"left_out"` // by the mapping's filter, or because the line is a delete
}

// Filter runs the pipeline without Kafka, so that people can develop a mapping: it reads lines until the input ends,
// writes features to out and rejections to rejects, one JSON text per line. Each line passes the handler that the
// consumer runs, so the output is what the pipeline would produce, and a rejection corresponds to a dead letter. A
// rejected line never stops the others, and nothing is retried: a step that fails transiently rejects its line.
//
// A line is usually one text; package jsontexts describes the other forms. A text is GeoJSON, JSON-FG, a structured
// CloudEvent or a Debezium change event, by the pipeline's source.format. Avro, which is not text, is refused.
//
// An error comes from reading, from writing or from the context. Only complete lines have been written by then.
func Filter(ctx context.Context, o FilterOptions, in io.Reader, out, rejects io.Writer) (FilterSummary, error) {
	r := filterRun{options: o, out: bufio.NewWriterSize(out, 1<<16), rejects: bufio.NewWriter(rejects)}
	err := r.run(ctx, in)
	return r.summary, errors.Join(err, filterError("write the features", r.out.Flush()), filterError("write the rejections", r.rejects.Flush()))
}

func filterError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

type filterRun struct {
	options      FilterOptions
	out, rejects *bufio.Writer
	summary      FilterSummary
}

func (r *filterRun) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []inputLine, 1)
	go readLines(ctx, in, r.options.MaxLine, batches)
	for {
		batch, open, err := r.next(ctx, batches)
		if err != nil || !open {
			return err
		}
		for _, l := range batch {
			if l.err != nil {
				return fmt.Errorf("read line %d: %w", l.Line, l.err)
			}
			if err := r.line(ctx, l); err != nil {
				return err
			}
		}
	}
}

// next returns the next lines. It flushes the output while it waits for one, so that the filter works in a pipe that never ends.
func (r *filterRun) next(ctx context.Context, batches <-chan []inputLine) ([]inputLine, bool, error) {
	select {
	case batch, open := <-batches:
		return batch, open, ctx.Err()
	default:
	}
	if err := errors.Join(filterError("write the features", r.out.Flush()), filterError("write the rejections", r.rejects.Flush())); err != nil {
		return nil, false, err
	}
	select {
	case batch, open := <-batches:
		return batch, open, ctx.Err()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// line handles one line. An error is one of writing.
func (r *filterRun) line(ctx context.Context, l inputLine) error {
	r.summary.Read++
	if l.TooLong > 0 {
		return r.reject(l.Line, &transform.Error{
			Code: classify.CodeRecordTooLarge, Stage: classify.StageGate, Rule: "max_bytes",
			Message: fmt.Sprintf("the line has %d bytes, more than %d", l.TooLong, r.options.MaxLine),
			Fix:     "simplify or split the feature, or raise source.max_record_bytes",
		})
	}
	result, err := r.handle(ctx, l)
	var left *transform.FilteredError
	switch {
	case errors.As(err, &left):
		r.summary.Left++
		return nil
	case err != nil && ctx.Err() != nil: // cancelled: the line is not to blame
		return ctx.Err()
	case err != nil:
		return r.reject(l.Line, err)
	}
	wrote := false
	for _, output := range result.Outputs {
		if output.Value == nil {
			continue
		}
		wrote = true
		if err := r.write(output, result); err != nil {
			return err
		}
	}
	for _, failed := range result.Failed { // features of a collection whose other features pass
		if err := r.refuse(l.Line, failed.Err); err != nil {
			return err
		}
	}
	switch {
	case len(result.Failed) > 0:
		r.summary.Rejected++
	case wrote:
		r.summary.Passed++
	default:
		r.summary.Left++
	}
	return nil
}

// handle runs the pipeline and turns a panic into an error (S4-15). A line has no key, and the mapping does not depend on one, so handle
// sets a key that every pipeline accepts.
func (r *filterRun) handle(ctx context.Context, l inputLine) (result retrytopics.Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	key := fmt.Appendf(nil, "line-%d", l.Line)
	return r.options.Handle(ctx, &retrytopics.Record{Key: key, Value: l.Bytes, Headers: r.options.Headers, Control: &header.Control{}})
}
