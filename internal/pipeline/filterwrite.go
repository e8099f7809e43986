package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// metaMember is the member that [FilterOptions.Meta] adds.
const metaMember = "switchback"

// write writes one feature.
func (r *filterRun) write(output *kgo.Record, result retrytopics.Result) error {
	value := output.Value
	if r.options.Meta {
		result.Identity = identityOf(output, result.Identity)
		var err error
		if value, err = withMeta(value, result); err != nil {
			return err
		}
	}
	if _, err := r.out.Write(append(slices.Clip(value), '\n')); err != nil {
		return fmt.Errorf("write the features: %w", err)
	}
	return nil
}

// identityOf returns the identity of an output. A line with a FeatureCollection has several, each with its own headers.
func identityOf(output *kgo.Record, id retrytopics.Identity) retrytopics.Identity {
	for _, h := range output.Headers {
		switch h.Key {
		case header.KeyFeatureID:
			id.FeatureID = string(h.Value)
		case header.KeyContentHash:
			id.ContentHash = string(h.Value)
		}
	}
	return id
}

// withMeta adds the pipeline's facts about a feature as a member, and replaces a member of that name.
func withMeta(value []byte, result retrytopics.Result) ([]byte, error) {
	version := transform.NullValue()
	if result.Version != nil {
		version = transform.IntegerValue(*result.Version)
	}
	meta := transform.ObjectValue(
		transform.Member{Name: "feature_id", Value: transform.StringValue(result.Identity.FeatureID)},
		transform.Member{Name: "content_hash", Value: transform.StringValue(result.Identity.ContentHash)},
		transform.Member{Name: "version", Value: version},
	)
	feature := value
	if bytes.Contains(value, []byte(`"`+metaMember+`"`)) {
		parsed, err := transform.ParseValue(value)
		if err != nil {
			return nil, fmt.Errorf("read the feature again: %w", err)
		}
		feature = transform.ObjectValue(slices.DeleteFunc(slices.Clone(parsed.Members()), func(m transform.Member) bool {
			return m.Name == metaMember
		})...).AppendJSON(nil)
	}
	out := append(slices.Clone(feature[:len(feature)-1]), `,"`+metaMember+`":`...)
	return append(meta.AppendJSON(out), '}'), nil
}

// reject counts a rejected line and writes the reason.
func (r *filterRun) reject(number int, cause error) error {
	r.summary.Rejected++
	return r.refuse(number, cause)
}

// refuse writes the reason why a line, or a feature of it, is rejected.
func (r *filterRun) refuse(number int, cause error) error {
	rejection := lineRejectionOf(cause)
	text := transform.ObjectValue(
		transform.Member{Name: "line", Value: transform.IntegerValue(int64(number))},
		transform.Member{Name: "code", Value: transform.StringValue(codeOf(cause))},
		transform.Member{Name: "message", Value: transform.StringValue(rejection.message)},
		transform.Member{Name: "path", Value: transform.StringValue(rejection.path)},
		transform.Member{Name: "value", Value: transform.StringValue(rejection.value)},
		transform.Member{Name: "rule", Value: transform.StringValue(rejection.rule)},
	).AppendJSON(nil)
	if _, err := r.rejects.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the rejections: %w", err)
	}
	return nil
}

// codeOf returns the code of an error. A deferred line has not failed: the pipeline would wait, and the filter continues
// with the next line.
func codeOf(cause error) string {
	if _, deferred := errors.AsType[*retrytopics.UnavailableError](cause); deferred {
		return "deferred"
	}
	return string(classify.Of(cause).Code)
}

// lineRejection has the parts of an error.
type lineRejection struct{ message, path, value, rule string }

// lineRejectionOf converts an error to a rejection. The position is a column only: the line of the input is known.
func lineRejectionOf(err error) lineRejection {
	var e *transform.Error
	if !errors.As(err, &e) {
		return lineRejection{message: err.Error()}
	}
	message := e.Message
	if e.Column > 0 {
		message += fmt.Sprintf(" (column %d)", e.Column)
	}
	if e.RuleLine > 0 {
		message += fmt.Sprintf(" (rule in line %d of the pipeline file)", e.RuleLine)
	}
	if e.Fix != "" {
		message += "; " + e.Fix
	}
	return lineRejection{message: message, path: e.Path, value: e.Value, rule: e.Rule}
}
