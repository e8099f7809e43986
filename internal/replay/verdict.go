package replay

import (
	"context"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// judge runs the pipeline's mapping on the bytes of a letter, in whatever format they are, with the headers that would go
// back with it.
func (s *Service) judge(ctx context.Context, d dialects.Dialect, headers []kgo.RecordHeader, value []byte) (plan.Verdict, pipeline.Tried) {
	tried, err := try(ctx, s.mapping, s.headers.back(d, headers), value)
	if err == nil {
		return plan.Verdict{Passes: true}, tried
	}
	f := classify.Of(err)
	return plan.Verdict{Code: f.Code, Class: f.Class, Stage: f.Stage, Message: clip(err.Error(), maxMessage)}, tried
}

// maxMessage bounds what a plan says of one letter.
const maxMessage = 1024

// try turns a panic into an error, as the consumer does (S4-15).
func try(ctx context.Context, m *pipeline.Mapping, headers []kgo.RecordHeader, value []byte) (tried pipeline.Tried, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &classify.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return m.Try(ctx, headers, value)
}
