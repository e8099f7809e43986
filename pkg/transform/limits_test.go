package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// TestDecodeLimits: every limit is checked, and what just keeps it passes.
func TestDecodeLimits(t *testing.T) {
	line := feature(`{"type":"LineString","coordinates":[[1,2],[3,4],[5,6]]}`)
	rings := feature(`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[3,1],[2,1]]]}`)
	nested := feature(strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 3) + `{"type":"Point","coordinates":[1,2]}` + strings.Repeat(`]}`, 3))
	text := withProperties(`{"a":"` + strings.Repeat("x", 48) + `"}`)
	number := withProperties(`{"a":` + strings.Repeat("1", 20) + `}`)
	for _, c := range []struct {
		name, in     string
		passes, hits Limits
		code         classify.Code
		rule         Rule
	}{
		{"max_bytes", line, Limits{MaxBytes: len(line)}, Limits{MaxBytes: len(line) - 1}, classify.CodeRecordTooLarge, RuleBytes},
		{"max_positions", line, Limits{MaxPositions: 3}, Limits{MaxPositions: 2}, classify.CodeLimitExceeded, RulePositions},
		{"max_rings", rings, Limits{MaxRings: 3}, Limits{MaxRings: 2}, classify.CodeLimitExceeded, RuleRings},
		{"max_collection_depth", nested, Limits{MaxCollectionDepth: 3}, Limits{MaxCollectionDepth: 2}, classify.CodeTooDeep, RuleCollectionDepth},
		{"max_depth", rings, Limits{MaxDepth: 5}, Limits{MaxDepth: 4}, classify.CodeTooDeep, RuleDepth},
		{"max_literal_bytes", text, Limits{MaxLiteralBytes: 50}, Limits{MaxLiteralBytes: 49}, classify.CodeLimitExceeded, RuleLiteralBytes},
		{"max_number_bytes", number, Limits{MaxNumberBytes: 20}, Limits{MaxNumberBytes: 19}, classify.CodeLimitExceeded, RuleNumberBytes},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			if _, err := mustNew(t, Config{Limits: c.passes}).Decode([]byte(c.in)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := mustNew(t, Config{Limits: c.hits}).Decode([]byte(c.in))
			must.That(t, err != nil, "beyond the limit it is accepted")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Rule == string(c.rule), "got %s, %s: %v", e.Code, e.Rule, err)
		})
	}
}

// TestDecodeHostile: what has brought other decoders down is refused at once.
func TestDecodeHostile(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name, in string
		code     classify.Code
	}{
		{"10_MB_record", `{"type":"Feature","geometry":null,"properties":{"a":"` + strings.Repeat("x", 10_000_000) + `"}}`, classify.CodeRecordTooLarge},
		{"100000_open_arrays", strings.Repeat("[", 100_000), classify.CodeTooDeep},
		{"100000_open_arrays_in_properties", `{"properties":{"a":` + strings.Repeat("[", 100_000), classify.CodeTooDeep},
		{"100000_open_arrays_in_a_skipped_member", `{"geometry":{"x":` + strings.Repeat("[", 100_000), classify.CodeTooDeep},
		{"2000_collections", feature(strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 2000)), classify.CodeTooDeep},
		{"wide_empty_rings", feature(`{"type":"Polygon","coordinates":[` + strings.Repeat("[],", 100_000) + `[]]}`), classify.CodeLimitExceeded},
		{"wide_empty_members", feature(`{"type":"GeometryCollection","geometries":[` + strings.Repeat(`{"type":"LineString","coordinates":[]},`, 100_000)), classify.CodeLimitExceeded},
		{"10000_digit_number", withProperties(`{"a":0.` + strings.Repeat("1", 10_000) + `}`), classify.CodeLimitExceeded},
		{"10000_digit_ordinate", feature(`{"type":"Point","coordinates":[0.` + strings.Repeat("1", 10_000) + `,1]}`), classify.CodeLimitExceeded},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			_, err := tr.Decode([]byte(c.in))
			must.That(t, err != nil, "it is accepted")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && len([]rune(e.Value)) <= maxValueChars, "got %s with a value of %d bytes: %v", e.Code, len(e.Value), err)
		})
	}
}
