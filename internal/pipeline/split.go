package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// split maps the features of a FeatureCollection, which stays one record: its outputs are committed together or not at
// all, and it is retried, dead-lettered, replayed and remembered as a whole (docs/decisions/0010). The error of one feature
// is that of the record, and says which. Its marks are those of all its features, and what is denied to one is denied to
// all.
func (p *Pipeline) split(
	ctx context.Context, r *retrytopics.Record, features []*transform.Feature, marks retrytopics.Marks, denied error,
) (retrytopics.Result, error) {
	contents := p.contents(features)
	result := retrytopics.Result{Identity: retrytopics.Identity{ContentHash: hashOf(contents).String(), Marks: marks}}
	if denied != nil {
		return result, denied
	}
	version, err := p.newest(features)
	if err != nil {
		return result, err
	}
	result.Version = version
	if result.Close = r.Judge(result.ContentHash, result.Version); result.Close != "" {
		return result, nil
	}
	outputs, parts, err := p.outputs(ctx, r, features, contents)
	if err == nil && len(parts) > 0 {
		err = p.made(ctx, Made{Record: r, Version: version, Parts: parts}, outputs)
	}
	if err != nil {
		return result, err
	}
	result.Outputs = outputs
	switch left := len(features) - len(outputs); {
	case len(features) == 0:
		result.Close, result.Note = retrytopics.OutcomeSkipped, "the collection has no features"
	case len(outputs) == 0:
		result.Close, result.Note = retrytopics.OutcomeFiltered, "the mapping's filter leaves all of "+strconv.Itoa(left)+" features out"
	case left > 0:
		result.Note = "the mapping's filter leaves " + strconv.Itoa(left) + " of " + strconv.Itoa(len(features)) + " features out"
	}
	return result, nil
}

// contents gives the canonical bytes of each feature, of which content hashes are made.
func (m *Mapping) contents(features []*transform.Feature) [][]byte {
	contents := make([][]byte, len(features))
	for i, f := range features {
		contents[i] = m.transformer.Content(f)
	}
	return contents
}

// hashOf is the content hash of a collection: features and their order count, and nothing else. Of one feature it is that
// of the feature.
func hashOf(contents [][]byte) idempotency.Hash { return idempotency.Of(contents...) }

// outputs maps each feature. What the mapping leaves out has no output.
func (p *Pipeline) outputs(
	ctx context.Context, r *retrytopics.Record, features []*transform.Feature, contents [][]byte,
) ([]*kgo.Record, []Part, error) {
	outputs, parts := make([]*kgo.Record, 0, len(features)), make([]Part, 0, len(features))
	keys := partKeys{}
	for i, source := range features {
		content := idempotency.Of(contents[i]).String()
		target, value, err := p.transform(ctx, r, i, source, content)
		if _, filtered := errors.AsType[*transform.FilteredError](err); filtered {
			continue
		}
		if err == nil {
			err = keys.take(i, target)
		}
		if err != nil {
			return nil, nil, inPart(i, err)
		}
		parts = append(parts, Part{Key: []byte(target.IDString()), Feature: target, Bytes: len(value), ContentHash: content})
		outputs = append(outputs, &kgo.Record{
			Topic: p.cfg.Output.Topic, Key: []byte(target.IDString()), Value: value,
			Headers: slices.Concat(p.encoder.headers(r.Headers, value), []kgo.RecordHeader{
				{Key: retrytopics.HeaderFeatureID, Value: []byte(target.IDString())},
				{Key: retrytopics.HeaderContentHash, Value: []byte(content)},
				{Key: retrytopics.HeaderPart, Value: fmt.Appendf(nil, "%d/%d", i, len(features))},
			}),
		})
	}
	return outputs, parts, nil
}

// tryParts is what the dry run does with a collection.
func (m *Mapping) tryParts(ctx context.Context, features []*transform.Feature) error {
	keys := partKeys{}
	for i, f := range features {
		target, err := m.mapped(ctx, f)
		if err == nil && target != nil {
			err = keys.take(i, target)
		}
		if err != nil {
			return inPart(i, err)
		}
	}
	return nil
}

// partKeys are the keys of the outputs of one collection, and which part has each. Each output needs one of its own: it is
// the key under which the feature is replaced or deleted later.
type partKeys map[string]int

func (k partKeys) take(i int, target *transform.Feature) error {
	id := target.IDString()
	first, taken := k[id]
	switch {
	case id == "":
		return &transform.Error{
			Code: classify.CodeMissingRequired, Stage: classify.StageTransform, Path: "/id", Rule: "source.split",
			Message: "a feature of the collection has no id, which would be the key of its output", Fix: "send ids, or make them with transform.id",
		}
	case taken:
		return &transform.Error{
			Code: classify.CodeDuplicateKey, Stage: classify.StageTransform, Path: "/id", Rule: "source.split", Feature: id, Value: id,
			Message: fmt.Sprintf("feature %d of the collection has the same id", first), Fix: "send each feature once, or make other ids with transform.id",
		}
	}
	k[id] = i
	return nil
}

// inPart says which feature of the collection an error is about.
func inPart(i int, err error) error {
	path := "/features/" + strconv.Itoa(i)
	if e, ok := errors.AsType[*transform.Error](err); ok {
		e.Path = path + e.Path
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
