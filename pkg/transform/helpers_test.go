package transform

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// mustNew makes a Transformer of a config that has no fault.
func mustNew(tb testing.TB, config Config) *Transformer {
	tb.Helper()
	return must.Get(New(config))(tb)
}

// mustDecode decodes a record that has no fault.
func mustDecode(tb testing.TB, t *Transformer, record string) *Feature {
	tb.Helper()
	return must.Get(t.Decode([]byte(record)))(tb)
}

// mustEncode encodes a feature that has no fault.
func mustEncode(tb testing.TB, t *Transformer, f *Feature) string {
	tb.Helper()
	out := must.Get(t.Encode(f))(tb)
	return string(out)
}

// asError returns the *Error in err.
func asError(tb testing.TB, err error) *Error {
	tb.Helper()
	var e *Error
	must.That(tb, errors.As(err, &e), "%v (%T) is no *Error", err, err)
	return e
}

// feature returns a record with this geometry and no properties.
func feature(geometry string) string {
	return `{"type":"Feature","geometry":` + geometry + `,"properties":null}`
}

// withProperties returns a record with these properties and no geometry.
func withProperties(properties string) string {
	return `{"type":"Feature","id":"f1","geometry":null,"properties":` + properties + `}`
}

// gateError is what the gates say of a feature.
func gateError(tb testing.TB, t *Transformer, f *Feature) error {
	tb.Helper()
	_, err := t.Gate(tb.Context(), f)
	return err
}

// polygonFeature is a feature of about 1 KB: 33 positions and 8 properties.
func polygonFeature() []byte {
	var ring []string
	for i := range 33 {
		angle := 2 * math.Pi * float64(i%32) / 32
		ring = append(ring, fmt.Sprintf("[%.7f,%.7f]", 9.5+0.01*math.Cos(angle), 47.1+0.01*math.Sin(angle)))
	}
	return []byte(`{"type":"Feature","id":"parcel-000017","geometry":{"type":"Polygon","coordinates":[[` + strings.Join(ring, ",") +
		`]]},"properties":{"PARZ_ID":"000017","owner":{"name":"Municipality of Vaduz"},"AREA":"1234.5","floors":"3","zone":"W2","updated":"2026-11-21T10:00:00Z","protected":"false","value":1250000}}`)
}
