package dryrun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Rewritten is the result of a rewrite: the new value and its differences.
type Rewritten struct {
	Value   []byte
	Changes []patch.Change
	More    int    // number of further changes
	Absent  string // fields that expressions read and the value does not have
	schema  bool   // the value names a different schema than before
}

// Rewrite rewrites the value of a dead letter that has its content. [Refusal] tells whether an error concerns the dead
// letter or the system.
func (d *Runner) Rewrite(ctx context.Context, r *rewrite.Rewrite, l *deadletters.Letter) (Rewritten, error) {
	doc, err := d.document(ctx, l.Content.Value)
	if errors.Is(err, ErrRegistry) {
		return Rewritten{}, err
	}
	if err != nil {
		return Rewritten{}, fmt.Errorf("%w: its bytes cannot be edited: %w", rewrite.ErrRewrite, err)
	}
	of := rewrite.Record{Value: doc.JSON, Key: string(l.Key), Headers: map[string]string{}}
	for _, h := range header.ProducerHeaders(l.Content.Headers) {
		of.Headers[h.Key] = string(h.Value)
	}
	var absent []string
	of.Absent = func(field string) { absent = append(absent, field) }
	text, err := r.Apply(ctx, of)
	if err != nil {
		return Rewritten{}, err
	}
	slices.Sort(absent)
	out := Rewritten{Absent: header.Clip(strings.Join(slices.Compact(absent), ", "), maxShape)}
	if out.Changes, out.More, err = patch.Diff(ctx, doc.JSON, text); err != nil {
		return Rewritten{}, err
	}
	if id := r.SchemaID(); id == 0 {
		out.Value, err = doc.Value(text)
	} else if out.Value, err = d.Mapping.AppendWith(ctx, id, text); err == nil {
		out.schema = !bytes.Equal(out.Value, l.Content.Value)
	}
	if err = registryFault(err); err != nil && !errors.Is(err, ErrRegistry) {
		err = fmt.Errorf("%w: %w", rewrite.ErrRewrite, err)
	}
	return out, err
}

// ErrRegistry marks a schema registry that does not answer or refuses access. The error does not concern a dead
// letter.
var ErrRegistry = errors.New("the schema registry cannot be used")

// document converts a value to JSON.
func (d *Runner) document(ctx context.Context, value []byte) (pipeline.Document, error) {
	if d.Alone && !d.Config.SchemaRegistry.Enabled() && envelope.IsFramed(value) {
		return pipeline.Document{}, fmt.Errorf("it is in Avro, or names a schema of a registry: name the registry with --registry")
	}
	doc, err := d.Mapping.Document(ctx, value)
	return doc, registryFault(err)
}

// registryFault adds [ErrRegistry] to an error if the registry caused it.
func registryFault(err error) error {
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*classify.HTTPError](err); refused || classify.Of(err).Code == classify.CodeRegistryUnavailable {
		return fmt.Errorf("%w: %w", ErrRegistry, err)
	}
	return err
}

// Text returns a value that names its schema as the JSON that a rewrite reads. It returns nil for any other value,
// and without a registry.
func (d *Runner) Text(ctx context.Context, value []byte) ([]byte, error) {
	if !d.Config.SchemaRegistry.Enabled() || !envelope.IsFramed(value) {
		return nil, nil
	}
	doc, err := d.document(ctx, value)
	return doc.JSON, err
}

// Refusal returns why a dead letter gets no new value. Any other error is fatal.
func Refusal(err error) (why string, fatal error) {
	if rewrite.Refused(err) {
		return err.Error(), nil
	}
	return "", err
}

// Compile compiles a rewrite; nil if the spec is empty. Dead letters of a pipeline are edited instead, so that
// their new values are kept.
func (d *Runner) Compile(spec rewrite.Spec) (*rewrite.Rewrite, error) {
	if spec.Empty() {
		return nil, nil
	}
	if !d.Alone {
		return nil, fmt.Errorf("%w: a replay does not change the values of a pipeline's dead letters; use replayer edit, which keeps the new values, then replay them", operation.ErrOptions)
	}
	r, err := rewrite.New(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrOptions, err)
	}
	return r, nil
}

// Predict writes the result of a rewrite into the line of a plan, and returns the new value.
func (d *Runner) Predict(ctx context.Context, r *rewrite.Rewrite, line *plan.Line, l *deadletters.Letter) (value []byte, err error) {
	made, err := d.Rewrite(ctx, r, l)
	why, err := Refusal(err)
	if err != nil {
		return nil, fmt.Errorf("rewrite dead letter %s: %w", l.ID, err)
	}
	if why != "" {
		line.Leave(why)
		return nil, nil
	}
	line.Becomes, line.Shape, line.Change = idempotency.Of(made.Value).String(), made.Shape(), made.example()
	line.Absent = made.Absent
	return made.Value, nil
}

const (
	maxShape       = 512 // bytes of a shape and of an example
	shapePaths     = 10
	exampleChanges = 3
)

// isNumber reports whether a step of a JSON Pointer can be the index of an array element.
func isNumber(step string) bool { return step != "" && strings.Trim(step, "0123456789") == "" }

// wholeValue stands for the empty path.
const wholeValue = "the whole value"

// Unchanged is the shape of a rewrite that changes nothing.
const Unchanged = "nothing"

// Shape returns the paths of the changed fields, whatever their values. All elements of an array share one path.
func (made *Rewritten) Shape() string {
	switch {
	case len(made.Changes) == 0 && made.schema:
		return "the schema"
	case len(made.Changes) == 0:
		return Unchanged
	}
	var paths []string
	for _, c := range made.Changes {
		if c.Path == "" {
			paths = append(paths, wholeValue)
			continue
		}
		steps := strings.Split(c.Path, "/")
		for i, step := range steps {
			if isNumber(step) {
				steps[i] = "*"
			}
		}
		paths = append(paths, strings.Join(steps, "/"))
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if over := len(paths) - shapePaths; over > 0 {
		paths = append(paths[:shapePaths], fmt.Sprintf("and %d more", over))
	}
	return header.Clip(strings.Join(paths, ", "), maxShape)
}

// example returns some of the changes as text.
func (made *Rewritten) example() string {
	side := func(text json.RawMessage) string {
		if text == nil {
			return "(nothing)"
		}
		return header.Clip(string(text), 80)
	}
	var out []string
	for i, c := range made.Changes {
		if i == exampleChanges {
			out = append(out, fmt.Sprintf("and %d more", len(made.Changes)-i+made.More))
			break
		}
		out = append(out, header.Clip(cmp.Or(c.Path, wholeValue), 200)+": "+side(c.Before)+" -> "+side(c.After))
	}
	return header.Clip(strings.Join(out, "; "), maxShape)
}
