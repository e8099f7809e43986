package replay

import (
	"context"
	"runtime/debug"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

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
