package replay

import (
	"context"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Verdict is what today's transform says of a letter: decoding, the gates and the mapping. The
// remote steps that follow in the consumer are not called.
type Verdict struct {
	Passes  bool           `json:"passes"`
	Code    classify.Code  `json:"code,omitempty"`
	Class   classify.Class `json:"class,omitempty"`
	Stage   classify.Stage `json:"stage,omitempty"`
	Message string         `json:"message,omitempty"`
}

// judge runs the pipeline's mapping on the original bytes, in whatever format they are.
func judge(ctx context.Context, m *pipeline.Mapping, headers []kgo.RecordHeader, value []byte) Verdict {
	err := try(ctx, m, retrytopics.ProducerHeaders(headers), value)
	if err == nil {
		return Verdict{Passes: true}
	}
	f := classify.Of(err)
	return Verdict{Code: f.Code, Class: f.Class, Stage: f.Stage, Message: err.Error()}
}

// try turns a panic into an error, as the consumer does (S4-15).
func try(ctx context.Context, m *pipeline.Mapping, headers []kgo.RecordHeader, value []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &classify.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return m.Try(ctx, headers, value)
}
