package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// version returns the version that orders the events of one key. It returns nil if the configuration names no version
// property; then the source offset orders them. An RFC 3339 time counts in nanoseconds; a whole number (Unix seconds,
// milliseconds, a revision) is used unchanged. All events of a pipeline must use the same form, which
// source.version_form names. A version too far in the future is refused, because it would supersede every event of
// its key until then.
func (m *Mapping) version(f *transform.Feature) (*int64, error) {
	path := m.cfg.Source.Version
	if path == "" {
		return nil, nil //nolint:nilnil // no version is no error
	}
	value, ok := f.Property(strings.TrimPrefix(path, "properties."))
	if !ok || value.IsNull() {
		return nil, versionError(f, classify.CodeMissingRequired, "the property that orders the events of a feature is missing")
	}
	form, text := m.cfg.Source.VersionForm, value.Text()
	latest := m.now().Add(m.cfg.Source.MaxVersionAhead.Std())
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && form.Numbers() {
		if most, isTime := form.Number(latest); isTime && n > most {
			return nil, m.ahead(f, text, latest)
		}
		return &n, nil
	}
	at, err := transform.ParseRFC3339(text)
	switch {
	case err == nil && form.Times() && at.After(latest):
		return nil, m.ahead(f, text, latest)
	case err != nil || !form.Times() || at.Year() < 1678 || at.Year() > 2261: // the range of nanoseconds since 1970
		return nil, versionError(f, classify.CodeCoercionFailed, "the property that orders the events of a feature is "+notOfForm(form))
	}
	n := at.UnixNano()
	return &n, nil
}

// notOfForm describes what is wrong with a version.
func notOfForm(form config.VersionForm) string {
	switch {
	case !form.Numbers():
		return "no RFC 3339 time of the years 1678 to 2261 (source.version_form: " + string(form) + ")"
	case !form.Times():
		return "not a whole number of 64 bits (source.version_form: " + string(form) + ")"
	}
	return "neither an RFC 3339 time nor a whole number"
}

// ahead returns the error of a version after the latest accepted one. It compares with the consumer's clock, because the
// producer usually sets the timestamp of a record (docs/decisions/0072).
func (m *Mapping) ahead(f *transform.Feature, text string, latest time.Time) error {
	limit := m.cfg.Source.MaxVersionAhead
	return &transform.Error{
		Code: classify.CodeVersionInFuture, Stage: classify.StageGate, Path: "/properties/" + strings.TrimPrefix(m.cfg.Source.Version, "properties."), Rule: "source.max_version_ahead",
		Feature: f.IDString(), Value: text,
		Message: fmt.Sprintf("the version %s lies more than %s (source.max_version_ahead) ahead of this consumer's clock, %s", text, limit,
			latest.Add(-limit.Std()).UTC().Format(time.RFC3339)),
		Fix: "correct the clock of the producer (or of this consumer) and send the event again, or correct the version with `replayer edit`; " +
			"if the version is correct, replay the record once its time has come, or raise source.max_version_ahead",
	}
}

// newest returns the version of the newest feature of a collection. If features fail separately, those without a version
// fail.
func (m *Mapping) newest(c *collection) (newest *int64, err error) {
	for i, f := range c.Features {
		if f == nil {
			continue
		}
		version, err := m.version(f)
		if err != nil && c.separate {
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
