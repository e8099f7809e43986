package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// maxFrame limits the text around the features of a collection that is split, because each dead letter repeats it.
const maxFrame = 16 << 10

// maxImmediate limits how often a feature is retried in place, as the engine does with a record.
const maxImmediate = 3

// collection is a record of several features, or one feature of such a record.
type collection struct {
	*envelope.Content
	record   *retrytopics.Record
	contents [][]byte // canonical bytes of each feature, for its content hash
	separate bool     // each feature is delivered, retried and dead-lettered separately
	pieces   transform.Pieces
	result   retrytopics.Result
	outputs  []*kgo.Record
	parts    []Part
}

// part returns the part number of a feature. For a single part, it is the one in its original record.
func (c *collection) part(i int) header.Part {
	if own := c.record.Part(); !own.Whole() {
		return own
	}
	return header.Part{Index: i, Of: len(c.Features)}
}

// own returns the headers that belong to the output of one feature.
func (c *collection) own(i int, target *transform.Feature, content string) []kgo.RecordHeader {
	return []kgo.RecordHeader{
		{Key: header.KeyFeatureID, Value: []byte(target.IDString())},
		{Key: header.KeyContentHash, Value: []byte(content)},
		{Key: header.KeyPart, Value: []byte(c.part(i).String())},
	}
}

// open reports whether a feature still has to be mapped.
func (c *collection) open(i int) bool {
	rest := c.record.Remaining()
	return rest == nil || rest.Has(i)
}

// collection returns the features of a record. An error concerns the whole record.
func (m *Mapping) collection(r *retrytopics.Record, content *envelope.Content) (*collection, error) {
	c := &collection{Content: content, record: r, contents: make([][]byte, len(content.Features))}
	for i, f := range content.Features {
		if f != nil {
			c.contents[i] = m.transformer.Content(f)
		} else {
			c.contents[i] = content.Pieces.Feature(i)
		}
	}
	if rest := r.Remaining(); rest != nil && rest.Of != len(content.Features) {
		return c, editedError(fmt.Sprintf("the record has %d features, but its remaining parts are those of a record with %d", len(content.Features), rest.Of))
	}
	if !r.Part().Whole() {
		if n := len(content.Features); n != 1 {
			return c, editedError(fmt.Sprintf("the record is part %s of a collection, and has %d features", r.Control.Part, n))
		}
		return c, content.Unread()
	}
	if c.separate = m.cfg.Source.SeparateFeatures() && c.cut(); !c.separate {
		return c, content.Unread()
	}
	return c, nil
}

// cut finds the features in the record's value. It returns false if the record cannot be split: it has an envelope, too
// large a frame or too many features.
func (c *collection) cut() bool {
	if n := len(c.Features); n == 0 || n > header.MaxParts || !bytes.Equal(c.Text, c.record.Value) {
		return false
	}
	if c.pieces = c.Pieces; c.pieces.Len() == 0 {
		c.pieces, _ = transform.CutCollection(c.record.Value) // without pieces it cannot be split
	}
	return c.pieces.Len() == len(c.Features) && c.pieces.Frame() <= maxFrame
}

func editedError(message string) error {
	return &transform.Error{
		Code: classify.CodeNotAFeature, Stage: classify.StageGate, Path: "/features", Rule: "source.collections",
		Message: message, Fix: "it was edited: send features that are added or left out as separate records",
	}
}

// fails stores the reason why a feature cannot be delivered. It returns an error of the whole record if the record is
// not split, or if the failure does not concern the feature.
func (p *Pipeline) fails(ctx context.Context, c *collection, i int, id retrytopics.Identity, err error) error {
	if _, deferred := errors.AsType[*retrytopics.UnavailableError](err); deferred || !c.separate || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	if level := p.classify(err).Level; level == classify.LevelBatch || level == classify.LevelPipeline {
		return err
	}
	c.result.Failed = append(c.result.Failed, retrytopics.FailedPart{
		Part: c.part(i), Identity: id, Value: func() []byte { return c.pieces.Alone(i) }, Err: err,
	})
	return nil
}

// each maps every open feature. An error concerns the whole record.
func (p *Pipeline) each(ctx context.Context, c *collection) error {
	keys := partKeys{}
	for i, f := range c.Features {
		if !c.open(i) {
			p.claim(ctx, keys, i, f)
			continue
		}
		c.result.Parts++
		id, err := p.one(ctx, c, i, keys)
		if err == nil {
			continue
		}
		if err := p.fails(ctx, c, i, id, inPart(c.part(i).Index, err)); err != nil {
			return err
		}
	}
	return nil
}

// claim adds the key of a feature that an earlier attempt finished.
func (m *Mapping) claim(ctx context.Context, keys partKeys, i int, f *transform.Feature) {
	if f == nil {
		return
	}
	if target, err := m.mapped(ctx, f); err == nil && target != nil {
		_ = keys.take(i, target) //nolint:errcheck // it has its end: an error of its was told
	}
}

// one maps one feature. A feature that the mapping filters out has no output.
func (p *Pipeline) one(ctx context.Context, c *collection, i int, keys partKeys) (retrytopics.Identity, error) {
	content := idempotency.Of(c.contents[i]).String()
	if c.Features[i] == nil {
		return retrytopics.Identity{ContentHash: content}, c.Faults[i]
	}
	id, err := p.mapOne(ctx, c, i, content, keys)
	if err != nil {
		id = p.named(id, c.Features[i])
	}
	return id, err
}

func (p *Pipeline) mapOne(ctx context.Context, c *collection, i int, content string, keys partKeys) (id retrytopics.Identity, err error) {
	f := c.Features[i]
	id = retrytopics.Identity{FeatureID: f.IDString(), BBox: f.BBoxString(), ContentHash: content}
	if id.Marks, err = p.governance.Marks(c.record.Headers, c.record.Control, f); err != nil && c.separate {
		return id, err
	}
	if _, err = p.version(f); err != nil && c.separate {
		return id, err
	}
	target, value, err := p.calmly(ctx, c, i, content, keys)
	for n := 0; c.separate && err != nil && n < maxImmediate && p.classify(err).Class == classify.RetryNow; n++ {
		target, value, err = p.calmly(ctx, c, i, content, keys)
	}
	if _, filtered := errors.AsType[*transform.FilteredError](err); filtered {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	out := p.output(c.record, []byte(target.IDString()), value, c.own(i, target, content)...)
	if c.separate {
		if err := c.record.Fits(out); err != nil {
			return id, err
		}
	}
	c.parts = append(c.parts, Part{Key: out.Key, Feature: target, Bytes: len(value), ContentHash: content, index: i, identity: id})
	c.outputs = append(c.outputs, out)
	return id, nil
}

// calmly is transform, but a panic is the failure of one feature if the record is split.
func (p *Pipeline) calmly(ctx context.Context, c *collection, i int, content string, keys partKeys) (target *transform.Feature, value []byte, err error) {
	defer func() {
		if !c.separate {
			return
		}
		if panicked := recover(); panicked != nil {
			err = &classify.PanicError{Value: panicked, Stack: debug.Stack()}
		}
	}()
	return p.transform(ctx, c.record, c.part(i).Index, c.Features[i], content, func(target *transform.Feature) error { return keys.take(c.part(i).Index, target) })
}

// reportOutputs reports the outputs of a record. If a feature is refused because of its content, it reports the others without
// it.
func (p *Pipeline) reportOutputs(ctx context.Context, c *collection, from, to int) error {
	if from == to {
		return nil
	}
	err := p.reportMade(ctx, Made{Record: c.record, Version: c.result.Version, Parts: c.parts[from:to]}, c.outputs[from:to])
	switch {
	case err == nil:
		return nil
	case !c.separate || p.classify(err).Level != classify.LevelRow:
		return err
	case to-from > 1:
		middle := (from + to) / 2
		if err := p.reportOutputs(ctx, c, from, middle); err != nil {
			return err
		}
		return p.reportOutputs(ctx, c, middle, to)
	}
	part := c.parts[from]
	if err := p.fails(ctx, c, part.index, p.named(part.identity, c.Features[part.index]), inPart(part.index, err)); err != nil {
		return err
	}
	c.outputs[from] = nil
	return nil
}
