package dryrun

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Detail is everything that is known about one dead letter.
type Detail struct {
	Letter   deadletters.Letter // with its content
	Feature  []byte             // the decoded feature as GeoJSON; nil if it cannot be decoded or the record is a delete
	Repaired []byte             // the feature with its repaired geometry; nil if today's transform repairs nothing
	Decode   error              // why the feature cannot be decoded
	Verdict  plan.Verdict       // result of today's transform
	Refused  *Refused           // the refused value or location, if the verdict concerns one
}

// Judge decodes a dead letter that has its content, runs today's transform on it, and returns the results.
func (d *Runner) Judge(ctx context.Context, letter deadletters.Letter) Detail {
	content := letter.Content
	_, err := try(ctx, d.Mapping, d.asRecord(ctx, &letter, content.Value))
	out := Detail{Letter: letter, Verdict: verdictOf(err), Refused: refusedBy(err)}
	if content.Value == nil {
		return out
	}
	opened, err := d.Mapping.Open(ctx, header.ProducerHeaders(content.Headers), content.Value)
	if err == nil {
		out.Feature, err = d.geoJSON(&opened)
	}
	out.Decode = err
	if out.Feature != nil && opened.Feature != nil { // a collection is shown as it is
		out.Repaired, _ = d.Mapping.Repaired(ctx, opened.Feature) // the verdict contains the error
	}
	return out
}

// Decoded returns the decoded feature as GeoJSON, before any mapping. It returns nil for a delete.
func (d *Runner) Decoded(ctx context.Context, c *deadletters.Content) ([]byte, error) {
	opened, err := d.Mapping.Open(ctx, header.ProducerHeaders(c.Headers), c.Value)
	if err != nil {
		return nil, err
	}
	return d.geoJSON(&opened)
}

// geoJSON encodes a decoded record as GeoJSON. It returns nil for a delete.
func (d *Runner) geoJSON(opened *envelope.Content) ([]byte, error) {
	if opened.Delete {
		return nil, nil
	}
	if opened.Features == nil {
		return d.Mapping.GeoJSON(opened.Feature)
	}
	if err := opened.Unread(); err != nil {
		return nil, err
	}
	var all [][]byte
	for _, f := range opened.Features {
		one, err := d.Mapping.GeoJSON(f)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return slices.Concat([]byte(`{"type":"FeatureCollection","features":[`), bytes.Join(all, []byte(",")), []byte("]}")), nil
}

// Refused is the part of a feature that today's transform refuses.
type Refused struct {
	Code  classify.Code `json:"code"`
	Path  string        `json:"path"`            // JSON pointer into the feature (RFC 6901)
	Value string        `json:"value,omitzero"`  // value in the record, cut to 80 characters; empty if it is not a single value
	Place *[2]float64   `json:"place,omitempty"` // where a geometry breaks a rule, in the coordinates of the source
}

// Refused reports whether today's transform passes a dead letter, and returns the part that it refuses, or nil if the
// reason has no location in the feature. The letter must have its content.
func (d *Runner) Refused(ctx context.Context, letter deadletters.Letter) (refused *Refused, passes bool) {
	_, err := try(ctx, d.Mapping, d.asRecord(ctx, &letter, letter.Content.Value))
	return refusedBy(err), err == nil
}

// refusedBy extracts the refused part from the error of a transform.
func refusedBy(err error) *Refused {
	fault, ok := errors.AsType[*transform.Error](err)
	if !ok {
		return nil
	}
	r := &Refused{Code: fault.Code, Path: fault.Path, Value: fault.Value}
	if broken, ok := errors.AsType[*transform.Violation](err); ok && broken.HasLocation {
		r.Place = &[2]float64{broken.X, broken.Y}
	}
	if r.Value == "" && r.Place == nil {
		return nil
	}
	return r
}

// Verdict runs the gates and the mapping of the pipeline on the record that a replay would produce for a dead letter
// with the given value.
func (d *Runner) Verdict(ctx context.Context, l *deadletters.Letter, value []byte) (plan.Verdict, pipeline.Tried) {
	tried, err := try(ctx, d.Mapping, d.asRecord(ctx, l, value))
	return verdictOf(err), tried
}

// verdictOf converts the error of a transform to a verdict. A nil error passes.
func verdictOf(err error) plan.Verdict {
	if err == nil {
		return plan.Verdict{Passes: true}
	}
	f := classify.Of(err)
	return plan.Verdict{Code: f.Code, Class: f.Class, Stage: f.Stage, Message: header.Clip(err.Error(), plan.MaxMessage)}
}

// asRecord returns the record that the consumer would read after a replay of the dead letter with the given value.
func (d *Runner) asRecord(ctx context.Context, l *deadletters.Letter, value []byte) *retrytopics.Record {
	control := target.Restored(l)
	return &retrytopics.Record{
		Source: control.Source, Key: l.Key, Value: value, Headers: d.Headers.Apply(l.Dialect, l.Content.Headers), Control: &control, Limits: d.outputLimits(ctx),
	}
}

// outputLimits returns the limits of the output topic, or nil if the cluster does not return them. It asks the
// cluster until it has one answer; concurrent calls do not wait for each other.
func (d *Runner) outputLimits(ctx context.Context) *retrytopics.TopicLimits {
	if known := d.limits.Load(); known != nil {
		return known.limits
	}
	limits, err := retrytopics.ReadLimits(ctx, d.Client, d.Config.Output.Topic)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		d.Log.WarnContext(ctx, "the limits of the output topic are unknown; the dry run does not check the sizes of outputs", "topic", d.Config.Output.Topic, "error", err)
	}
	d.limits.Store(&outputLimits{limits})
	return limits
}

// outputLimits is the answer of the cluster. Its limits are nil if the cluster does not return them.
type outputLimits struct{ limits *retrytopics.TopicLimits }

// try runs the mapping on a record and converts a panic to an error, as the consumer does (S4-15).
func try(ctx context.Context, m *pipeline.Mapping, r *retrytopics.Record) (tried pipeline.Tried, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &classify.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return m.Try(ctx, r)
}
