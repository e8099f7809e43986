package filter

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
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Options say how lines are read and features written.
type Options struct {
	// Handle is the pipeline's handler. Mandatory.
	Handle retrytopics.Handler

	// Headers are those of every record that is made of a line; see [Headers].
	Headers []kgo.RecordHeader

	// MaxLine bounds one line in bytes; a longer one is rejected without being
	// kept. Mandatory: the pipeline's source.max_record_bytes.
	MaxLine int

	// Meta adds a member "switchback" to each feature: feature_id, content_hash
	// and version, as the pipeline would have them.
	Meta bool
}

// Summary counts the lines. Blank ones do not count.
type Summary struct {
	Read     int `json:"read"`
	Passed   int `json:"passed"`
	Rejected int `json:"rejected"` // all of it, or features of its collection
	Left     int `json:"left_out"` // by the mapping's filter, or because the line is a delete
}

// Run reads lines until the input ends, writes features to out and rejections to
// rejects, one JSON text a line each. The error is that of reading or writing,
// or the context's; what was written by then is whole lines.
func Run(ctx context.Context, o Options, in io.Reader, out, rejects io.Writer) (Summary, error) {
	r := runner{options: o, out: bufio.NewWriterSize(out, 1<<16), rejects: bufio.NewWriter(rejects)}
	err := r.run(ctx, in)
	return r.summary, errors.Join(err, wrapped("write the features", r.out.Flush()), wrapped("write the rejections", r.rejects.Flush()))
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

type runner struct {
	options      Options
	out, rejects *bufio.Writer
	summary      Summary
}

func (r *runner) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []line, 1)
	go read(ctx, in, r.options.MaxLine, batches)
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

// next returns the next lines. While there is none, what was written so far is
// handed on, so that the filter can stand in a pipe that never ends.
func (r *runner) next(ctx context.Context, batches <-chan []line) ([]line, bool, error) {
	select {
	case batch, open := <-batches:
		return batch, open, ctx.Err()
	default:
	}
	if err := errors.Join(wrapped("write the features", r.out.Flush()), wrapped("write the rejections", r.rejects.Flush())); err != nil {
		return nil, false, err
	}
	select {
	case batch, open := <-batches:
		return batch, open, ctx.Err()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// line handles one line. The error is one of writing.
func (r *runner) line(ctx context.Context, l line) error {
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
	case err != nil && ctx.Err() != nil: // told to stop: that says nothing about the line
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
	for _, failed := range result.Failed { // of a collection whose other features pass
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

// handle is the pipeline, without its panics (S4-15). A line has no key, so it
// gets one: what the pipeline demands of keys is not a matter of the mapping.
func (r *runner) handle(ctx context.Context, l line) (result retrytopics.Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	key := fmt.Appendf(nil, "line-%d", l.Line)
	return r.options.Handle(ctx, &retrytopics.Record{Key: key, Value: l.Bytes, Headers: r.options.Headers, Control: &retrytopics.Control{}})
}
