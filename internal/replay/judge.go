package replay

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Detail is everything about one letter.
type Detail struct {
	Letter   deadletters.Letter // with its content
	Feature  []byte             // the decoded feature as GeoJSON; nil when it cannot be decoded or is a delete
	Repaired []byte             // the feature with the geometry that today's transform puts in the place of its own; nil where it leaves it
	Decode   error              // why it cannot be decoded
	Verdict  plan.Verdict       // what today's transform says of it
	Refused  *Refused           // what it refuses, where that is a value or a place
}

// Judge says everything about a letter that comes with its content: the decoded feature, and what
// today's transform says.
func (s *Service) Judge(ctx context.Context, letter deadletters.Letter) Detail {
	content := letter.Content
	_, err := try(ctx, s.mapping, s.asRecord(ctx, &letter, content.Value))
	d := Detail{Letter: letter, Verdict: verdictOf(err), Refused: refusedBy(err)}
	if content.Value != nil {
		d.Feature, d.Decode = s.Decoded(ctx, content)
	}
	if d.Feature != nil {
		d.Repaired = s.repaired(ctx, content)
	}
	return d
}

// repaired returns the feature of a letter with the geometry that the gates repair; nil where they do not, and of a collection.
func (s *Service) repaired(ctx context.Context, c *deadletters.Content) []byte {
	opened, err := s.mapping.Open(ctx, header.ProducerHeaders(c.Headers), c.Value)
	if err != nil || opened.Feature == nil {
		return nil
	}
	out, err := s.mapping.Repaired(ctx, opened.Feature)
	if err != nil {
		return nil // the verdict says why the gates refuse it
	}
	return out
}

// Decoded gives the feature as the pipeline understands it, before any mapping, as GeoJSON; nil
// for a delete.
func (s *Service) Decoded(ctx context.Context, c *deadletters.Content) ([]byte, error) {
	opened, err := s.mapping.Open(ctx, header.ProducerHeaders(c.Headers), c.Value)
	if err != nil || opened.Delete {
		return nil, err
	}
	if opened.Features == nil {
		return s.mapping.GeoJSON(opened.Feature)
	}
	if err := opened.Unread(); err != nil {
		return nil, err
	}
	var all [][]byte
	for _, f := range opened.Features {
		one, err := s.mapping.GeoJSON(f)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return slices.Concat([]byte(`{"type":"FeatureCollection","features":[`), bytes.Join(all, []byte(",")), []byte("]}")), nil
}

// Refused is what today's transform refuses of a feature.
type Refused struct {
	Code  classify.Code `json:"code"`
	Path  string        `json:"path"`            // JSON pointer into the feature (RFC 6901)
	Value string        `json:"value,omitzero"`  // as the record has it, cut to 80 characters; empty for what is no single value
	Place *[2]float64   `json:"place,omitempty"` // of a geometry that breaks a rule: where, in the coordinates of the source
}

// Refused gives what today's transform refuses of a letter that comes with its content. It is nil when the letter passes, or is refused
// for something that has no place in the feature.
func (s *Service) Refused(ctx context.Context, letter deadletters.Letter) *Refused {
	if letter.Content == nil {
		return nil
	}
	_, err := try(ctx, s.mapping, s.asRecord(ctx, &letter, letter.Content.Value))
	return refusedBy(err)
}

// refusedBy reads the error of a transform.
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

// judge runs the gates and the mapping of the pipeline on a letter with the given value, as the record that would go back.
func (s *Service) judge(ctx context.Context, l *deadletters.Letter, value []byte) (plan.Verdict, pipeline.Tried) {
	tried, err := try(ctx, s.mapping, s.asRecord(ctx, l, value))
	return verdictOf(err), tried
}

// verdictOf says what the error of a transform means; nil passes.
func verdictOf(err error) plan.Verdict {
	if err == nil {
		return plan.Verdict{Passes: true}
	}
	f := classify.Of(err)
	return plan.Verdict{Code: f.Code, Class: f.Class, Stage: f.Stage, Message: clip(err.Error(), maxMessage)}
}

// asRecord is a letter with the given value as the consumer would read it after a replay.
func (s *Service) asRecord(ctx context.Context, l *deadletters.Letter, value []byte) *retrytopics.Record {
	control := restored(l)
	return &retrytopics.Record{
		Source: control.Source, Key: l.Key, Value: value, Headers: s.headers.back(l.Dialect, l.Content.Headers), Control: &control, Limits: s.outputLimits(ctx),
	}
}

// outputLimits returns what the output topic takes; nil where the cluster does not tell. The service asks the cluster until it has
// answered once; calls that ask at the same time do not wait for each other.
func (s *Service) outputLimits(ctx context.Context) *retrytopics.TopicLimits {
	if known := s.limits.Load(); known != nil {
		return known.limits
	}
	limits, err := retrytopics.ReadLimits(ctx, s.client, s.cfg.Output.Topic)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		s.log.WarnContext(ctx, "what the output topic takes is not known: the dry run does not judge the sizes of outputs", "topic", s.cfg.Output.Topic, "error", err)
	}
	s.limits.Store(&outputLimits{limits})
	return limits
}

// outputLimits is what the cluster has answered; its limits are nil when it does not tell.
type outputLimits struct{ limits *retrytopics.TopicLimits }

// maxMessage bounds what a plan says of one letter.
const maxMessage = 1024

// try turns a panic into an error, as the consumer does (S4-15).
func try(ctx context.Context, m *pipeline.Mapping, r *retrytopics.Record) (tried pipeline.Tried, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &classify.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return m.Try(ctx, r)
}
