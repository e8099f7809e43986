package pipeline

import (
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// version reads what orders the events of one key: nil when the configuration names no property, and the source offset
// does. An RFC 3339 time counts in nanoseconds; a whole number (Unix seconds, milliseconds, a revision) counts as it is.
// All events of a pipeline must use one form.
func (m *Mapping) version(f *transform.Feature) (*int64, error) {
	path := m.cfg.Source.Version
	if path == "" {
		return nil, nil //nolint:nilnil // no version is no error
	}
	value, ok := f.Property(strings.TrimPrefix(path, "properties."))
	if !ok || value.IsNull() {
		return nil, versionError(f, classify.CodeMissingRequired, "the property that orders the events of a feature is missing")
	}
	text := value.Text()
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &n, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1678 || at.Year() > 2261 { // what fits into nanoseconds
		return nil, versionError(f, classify.CodeCoercionFailed, "the property that orders the events of a feature is neither an RFC 3339 time nor a whole number")
	}
	n := at.UnixNano()
	return &n, nil
}

// newest is the version of a collection: that of its newest feature. Where features fail by themselves, those without a
// version do.
func (m *Mapping) newest(c *collection) (newest *int64, err error) {
	for i, f := range c.Features {
		if f == nil {
			continue
		}
		version, err := m.version(f)
		if err != nil && c.apart {
			continue
		}
		if err != nil {
			return nil, inPart(i, err)
		}
		if version != nil && (newest == nil || *version > *newest) {
			newest = version
		}
	}
	return newest, nil
}

func versionError(f *transform.Feature, code classify.Code, message string) error {
	return &transform.Error{
		Code: code, Stage: classify.StageGate, Path: "/properties", Rule: "source.version", Feature: f.IDString(), Message: message,
		Fix: "send it with every event, or leave source.version out: then the source offset orders them",
	}
}
