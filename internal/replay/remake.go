package replay

import (
	"bytes"
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

// remade is the result of a rewrite: the new value and its differences.
type remade struct {
	value   []byte
	changes []patch.Change
	more    int    // number of further changes
	absent  string // fields that expressions read and the value does not have
	schema  bool   // the value names a different schema than before
}

// remake rewrites the value of a dead letter that has its content. [refusal] tells whether an error concerns the dead
// letter or the system.
func (s *Service) remake(ctx context.Context, r *rewrite.Rewrite, l *deadletters.Letter) (remade, error) {
	doc, err := s.document(ctx, l.Content.Value)
	if errors.Is(err, ErrRegistry) {
		return remade{}, err
	}
	if err != nil {
		return remade{}, fmt.Errorf("%w: its bytes cannot be edited: %w", rewrite.ErrRewrite, err)
	}
	of := rewrite.Record{Value: doc.JSON, Key: string(l.Key), Headers: map[string]string{}}
	for _, h := range header.ProducerHeaders(l.Content.Headers) {
		of.Headers[h.Key] = string(h.Value)
	}
	var absent []string
	of.Absent = func(field string) { absent = append(absent, field) }
	text, err := r.Apply(ctx, of)
	if err != nil {
		return remade{}, err
	}
	slices.Sort(absent)
	out := remade{absent: header.Clip(strings.Join(slices.Compact(absent), ", "), maxShape)}
	if out.changes, out.more, err = differences(ctx, doc.JSON, text); err != nil {
		return remade{}, err
	}
	if id := r.SchemaID(); id == 0 {
		out.value, err = doc.Value(text)
	} else if out.value, err = s.mapping.AppendWith(ctx, id, text); err == nil {
		out.schema = !bytes.Equal(out.value, l.Content.Value)
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
func (s *Service) document(ctx context.Context, value []byte) (pipeline.Document, error) {
	if s.alone && !s.cfg.SchemaRegistry.Enabled() && envelope.IsFramed(value) {
		return pipeline.Document{}, fmt.Errorf("it is in Avro, or names a schema of a registry: name the registry with --registry")
	}
	doc, err := s.mapping.Document(ctx, value)
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
func (s *Service) Text(ctx context.Context, value []byte) ([]byte, error) {
	if !s.cfg.SchemaRegistry.Enabled() || !envelope.IsFramed(value) {
		return nil, nil
	}
	doc, err := s.document(ctx, value)
	return doc.JSON, err
}

// refusal returns why a dead letter gets no new value. Any other error is fatal.
func refusal(err error) (why string, fatal error) {
	if rewrite.Refused(err) {
		return err.Error(), nil
	}
	return "", err
}

// differences is [patch.Diff] that also accepts values other than JSON. These differ as a whole.
func differences(ctx context.Context, before, after []byte) ([]patch.Change, int, error) {
	if bytes.Equal(before, after) {
		return []patch.Change{}, 0, nil
	}
	if !json.Valid(before) || !json.Valid(after) {
		return []patch.Change{{}}, 0, nil
	}
	return patch.Diff(ctx, before, after)
}

// rewriteOf compiles a rewrite; nil if the spec is empty. Dead letters of a pipeline are edited instead, so that
// their new values are kept.
func (s *Service) rewriteOf(spec rewrite.Spec) (*rewrite.Rewrite, error) {
	if spec.Empty() {
		return nil, nil
	}
	if !s.alone {
		return nil, fmt.Errorf("%w: a replay does not change the values of a pipeline's dead letters; use replayer edit, which keeps the new values, then replay them", operation.ErrOptions)
	}
	r, err := rewrite.New(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrOptions, err)
	}
	return r, nil
}

// foretell writes the result of a rewrite into the line of a plan, and returns the new value.
func (s *Service) foretell(ctx context.Context, r *rewrite.Rewrite, line *plan.Letter, l *deadletters.Letter) (value []byte, err error) {
	made, err := s.remake(ctx, r, l)
	why, err := refusal(err)
	if err != nil {
		return nil, fmt.Errorf("rewrite dead letter %s: %w", l.ID, err)
	}
	if why != "" {
		leaveLine(line, why)
		return nil, nil
	}
	line.Becomes, line.Shape, line.Change = idempotency.Of(made.value).String(), shapeOf(made), exampleOf(made)
	line.Absent = made.absent
	return made.value, nil
}

// remadeAsPlanned returns the value in the plan, or why the rewrite now returns a different one.
func (r *replaying) remadeAsPlanned(ctx context.Context, p *plan.Letter, l *deadletters.Letter) (value []byte, why string, err error) {
	if err := r.checkSubject(ctx); err != nil {
		return nil, "", err
	}
	made, err := r.service.remake(ctx, r.rewrite, l)
	if err != nil {
		why, err = refusal(err)
		return nil, why, err
	}
	if idempotency.Of(made.value).String() != p.Becomes {
		return nil, "the rewrite returns another value than when the plan was made: it depends on something other than the record", nil
	}
	return made.value, "", nil
}

const (
	maxShape   = 512 // bytes of a shape and of an example
	shapePaths = 10
	exampleOfs = 3
)

// isNumber reports whether a step of a JSON Pointer can be the index of an array element.
func isNumber(step string) bool { return step != "" && strings.Trim(step, "0123456789") == "" }

// unchanged is the shape of a rewrite that changes nothing.
const unchanged = "nothing"

// shapeOf returns the paths of the changed fields, whatever their values. All elements of an array share one path.
func shapeOf(made remade) string {
	switch {
	case len(made.changes) == 0 && made.schema:
		return "the schema"
	case len(made.changes) == 0:
		return unchanged
	}
	var paths []string
	for _, c := range made.changes {
		if c.Path == "" {
			paths = append(paths, "the whole value")
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

// exampleOf returns some of the changes as text.
func exampleOf(made remade) string {
	side := func(text json.RawMessage) string {
		if text == nil {
			return "(nothing)"
		}
		return header.Clip(string(text), 80)
	}
	var out []string
	for i, c := range made.changes {
		if c.Path == "" && c.Before == nil && c.After == nil {
			break // the values are not JSON
		}
		if i == exampleOfs {
			out = append(out, fmt.Sprintf("and %d more", len(made.changes)-i+made.more))
			break
		}
		out = append(out, header.Clip(c.Path, 200)+": "+side(c.Before)+" -> "+side(c.After))
	}
	return header.Clip(strings.Join(out, "; "), maxShape)
}

// findSubject stores the latest schema of the subject that a rewrite names in the spec, so that the plan contains it.
func (s *Service) findSubject(ctx context.Context, spec *rewrite.Spec) (err error) {
	if spec.Subject != "" && s.alone {
		spec.SchemaID, err = s.latestSchema(ctx, spec.Subject)
	}
	return err
}

// latestSchema returns the ID of the latest schema of a subject. It returns [ErrRegistry] if the registry does not
// answer, and otherwise [operation.ErrOptions].
func (s *Service) latestSchema(ctx context.Context, subject string) (id int, err error) {
	if !s.cfg.SchemaRegistry.Enabled() {
		return 0, fmt.Errorf("%w: --subject %s: name the registry with --registry", operation.ErrOptions, subject)
	}
	id, err = s.mapping.LatestSchema(ctx, subject)
	if err = registryFault(err); err != nil && !errors.Is(err, ErrRegistry) {
		err = fmt.Errorf("%w: --subject %s: %w", operation.ErrOptions, subject, err)
	}
	return id, err
}

// checkSubject stops a replay if the subject of its rewrite has a newer schema than the plan. It asks once for each
// transaction.
func (r *replaying) checkSubject(ctx context.Context) error {
	spec := r.plan.Rewrite
	if r.subject || spec.Subject == "" {
		return nil
	}
	id, err := r.service.latestSchema(ctx, spec.Subject)
	if err != nil {
		return err
	}
	if id != spec.SchemaID {
		return fmt.Errorf("the latest schema of subject %s is %d, but the plan was made for %d: make a new plan", spec.Subject, id, spec.SchemaID)
	}
	r.subject = true
	return nil
}
