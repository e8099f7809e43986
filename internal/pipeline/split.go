package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// split maps the features of a FeatureCollection. The collection stays one record with one place in the order of its
// key. If its features are independent, each is delivered, retried and dead-lettered separately; otherwise the error of
// one feature is the error of the record, and a mark that denies one feature denies all (docs/decisions/0010). Each
// output has the marks of all features.
func (p *Pipeline) split(ctx context.Context, r *retrytopics.Record, content *envelope.Content, marks retrytopics.Marks, denied error) (retrytopics.Result, error) {
	c, err := p.collection(r, content)
	c.result = retrytopics.Result{Identity: retrytopics.Identity{ContentHash: hashOf(c.contents).String(), Marks: marks}}
	if err == nil && !c.separate {
		err = denied
	}
	if err != nil {
		return c.result, err
	}
	if c.result.Version, err = p.newest(c); err != nil {
		return c.result, err
	}
	if c.result.Close = r.Judge(c.result.ContentHash, c.result.Version); c.result.Close != "" {
		return c.result, nil
	}
	err = p.each(ctx, c)
	if err == nil && !r.FailsWhole(c.result.Failed) { // a hook may write the result elsewhere at once
		err = p.reportOutputs(ctx, c, 0, len(c.outputs))
	}
	if err != nil {
		return retrytopics.Result{Identity: c.result.Identity, Version: c.result.Version}, err
	}
	return c.end(), nil
}

// end returns the result of a collection whose features are all mapped or have failed.
func (c *collection) end() retrytopics.Result {
	c.outputs = slices.DeleteFunc(c.outputs, func(out *kgo.Record) bool { return out == nil }) // refused by a hook
	slices.SortFunc(c.result.Failed, func(a, b retrytopics.FailedPart) int { return a.Part.Index - b.Part.Index })
	c.result.Outputs = c.outputs
	of := c.result.Parts
	if c.separate || c.record.Remaining() != nil {
		c.result.Of = len(c.Features)
	} else {
		c.result.Parts = 0
	}
	switch left := of - len(c.outputs) - len(c.result.Failed); {
	case len(c.Features) == 0:
		c.result.Close, c.result.Note = policy.OutcomeSkipped, "the collection has no features"
	case len(c.outputs) == 0 && len(c.result.Failed) == 0:
		c.result.Close, c.result.Note = policy.OutcomeFiltered, "the mapping's filter leaves all of "+strconv.Itoa(left)+" features out"
	case left > 0:
		c.result.Note = "the mapping's filter leaves " + strconv.Itoa(left) + " of " + strconv.Itoa(of) + " features out"
	}
	return c.result
}

// hashOf returns the content hash of a collection, which depends on its features and their order alone. The hash of a
// collection with one feature is that of the feature.
func hashOf(contents [][]byte) idempotency.Hash { return idempotency.Of(contents...) }

// partKeys has the output keys of one collection, each with the number of its part. Each output needs its own key, by
// which the feature is replaced or deleted later.
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
	case taken && first != i:
		return &transform.Error{
			Code: classify.CodeDuplicateKey, Stage: classify.StageTransform, Path: "/id", Rule: "source.split", Feature: id, Value: id,
			Message: fmt.Sprintf("feature %d of the collection has the same id", first), Fix: "send each feature once, or make other ids with transform.id",
		}
	}
	k[id] = i
	return nil
}

// inPart adds the number of the feature in the collection to an error.
func inPart(i int, err error) error {
	path := "/features/" + strconv.Itoa(i)
	if e, ok := errors.AsType[*transform.Error](err); ok {
		e.Path = path + e.Path
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
