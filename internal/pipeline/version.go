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

// version reads what orders the events of one key: nil when the configuration names no property, and the source offset
// does. An RFC 3339 time counts in nanoseconds; a whole number (Unix seconds, milliseconds, a revision) counts as it is.
// All events of a pipeline must use one form; source.version_form says which. One that lies too far ahead would supersede
// every event of its key until its time has come, and is refused.
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
	case err != nil || !form.Times() || at.Year() < 1678 || at.Year() > 2261: // what fits into nanoseconds
		return nil, versionError(f, classify.CodeCoercionFailed, "the property that orders the events of a feature is "+notOfForm(form))
	}
	n := at.UnixNano()
	return &n, nil
}

// notOfForm says what a version is not.
func notOfForm(form config.VersionForm) string {
	switch {
	case !form.Numbers():
		return "no RFC 3339 time of the years 1678 to 2261 (source.version_form: " + string(form) + ")"
	case !form.Times():
		return "no whole number of 64 bits (source.version_form: " + string(form) + ")"
	}
	return "neither an RFC 3339 time nor a whole number"
}

// ahead is the error of a version after the latest that is accepted. The clock is the consumer's: the timestamp of a record is
// its producer's, unless the topic says otherwise (docs/decisions/0072).
func (m *Mapping) ahead(f *transform.Feature, text string, latest time.Time) error {
	limit := m.cfg.Source.MaxVersionAhead
	return &transform.Error{
		Code: classify.CodeVersionInFuture, Stage: classify.StageGate, Path: "/properties/" + strings.TrimPrefix(m.cfg.Source.Version, "properties."), Rule: "source.max_version_ahead",
		Feature: f.IDString(), Value: text,
		Message: fmt.Sprintf("the version %s lies more than %s (source.max_version_ahead) ahead of this consumer's clock, %s", text, limit,
			latest.Add(-limit.Std()).UTC().Format(time.RFC3339)),
		Fix: "correct the clock of the producer (or of this consumer) and send the event again, or correct the version with `replayer edit`; " +
			"where the version is right, replay it once its time has come, or raise source.max_version_ahead",
	}
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
