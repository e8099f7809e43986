package replay

import (
	"errors"
	"runtime/debug"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
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

// judge runs the transform on the original bytes. A tombstone needs none and passes.
func judge(t *transform.Transformer, value []byte) Verdict {
	if value == nil {
		return Verdict{Passes: true}
	}
	err := apply(t, value)
	if _, filtered := errors.AsType[*transform.FilteredError](err); err == nil || filtered {
		return Verdict{Passes: true} // a filtered feature is closed, not refused
	}
	f := classify.Of(err)
	return Verdict{Code: f.Code, Class: f.Class, Stage: f.Stage, Message: err.Error()}
}

// apply turns a panic into an error, as the consumer does (S4-15).
func apply(t *transform.Transformer, value []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &classify.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	_, err = t.Apply(value)
	return err
}
