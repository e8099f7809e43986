package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S0-10: numbers as people write them are read by what the rule says, and by nothing else.
func TestWrittenNumbers_S0_10(t *testing.T) {
	for _, c := range []struct {
		thousands, decimal string
		kind               Type
		in, want           string // want "" is coercion_failed
	}{
		{"'", "", TypeNumber, `"1'234"`, `1234`},
		{"'", "", TypeNumber, `"1'234.5"`, `1234.5`},
		{"'", "", TypeInteger, `"-12'345'678"`, `-12345678`},
		{"’", "", TypeNumber, `"1’234"`, `1234`},
		{"'", "", TypeNumber, `"1234"`, `1234`},
		{"'", "", TypeNumber, `"1'23"`, ``},
		{"'", "", TypeNumber, `"1234'567"`, ``},
		{"'", "", TypeNumber, `"1''234"`, ``},
		{"'", "", TypeNumber, `"'234"`, ``},
		{"'", "", TypeNumber, `"1,5"`, ``},
		{"", ",", TypeNumber, `"16,5"`, `16.5`},
		{"", ",", TypeDecimal, `"16,50"`, `"16.50"`},
		{"", ",", TypeNumber, `"16.5"`, ``},
		{"", ",", TypeNumber, `",5"`, `0.5`},
		{"", ",", TypeNumber, `"5,"`, ``},
		{"", ",", TypeNumber, `","`, ``},
		{".", ",", TypeNumber, `"1.234.567,89"`, `1234567.89`},
		{".", ",", TypeInteger, `"1.234"`, `1234`},
		{".", ",", TypeNumber, `"1,234,567"`, ``},
		{" ", ",", TypeNumber, "\"1\u00a0234,5\"", `1234.5`},
		{" ", ",", TypeNumber, "\"1\u202f234,5\"", `1234.5`},
		{",", "", TypeNumber, `"1,234.5"`, `1234.5`},
		{",", "", TypeNumber, `1234.5`, `1234.5`}, // a number of JSON is one already
		{",", "", TypeNumber, `"0x12"`, ``},
		{",", "", TypeNumber, `""`, ``},
	} {
		t.Run(c.thousands+c.decimal+c.in, func(t *testing.T) {
			config := Config{Fields: []Field{{To: "x", From: "x", Type: c.kind, Thousands: c.thousands, Decimal: c.decimal}}, Unmapped: UnmappedDrop}
			got, err := apply(t, config, withProperties(`{"x":`+c.in+`}`))
			if c.want == "" {
				must.That(t, err != nil, "got %s", got)
				e := asError(t, err)
				expect.That(t, e.Code == classify.CodeCoercionFailed, "got %s: %v", e.Code, e)
				return
			}
			expect.That(t, err == nil && got == `{"x":`+c.want+`}`, "got %s, %v, want %s", got, err, c.want)
		})
	}
	t.Run("without_a_word_the_error_names_it", func(t *testing.T) {
		for _, in := range []string{`"1'234"`, `"16,5"`} {
			_, err := apply(t, Config{Fields: []Field{{To: "x", Type: TypeNumber}}}, withProperties(`{"x":`+in+`}`))
			e := asError(t, err)
			expect.That(t, strings.Contains(e.Fix, "thousands") && strings.Contains(e.Fix, "decimal"), "%s: %v", in, e)
		}
	})
	t.Run("words_and_units", func(t *testing.T) {
		for in, c := range map[string]struct {
			kind Type
			fix  string
		}{
			`"ja"`:    {TypeBoolean, "the rule's map"},
			`"12 m2"`: {TypeNumber, "the rule's extract"},
			`"m2"`:    {TypeNumber, "fix the source"},
		} {
			_, err := apply(t, Config{Fields: []Field{{To: "x", From: "x", Type: c.kind}}}, withProperties(`{"x":`+in+`}`))
			e := asError(t, err)
			expect.That(t, e.Code == classify.CodeCoercionFailed && strings.Contains(e.Fix, c.fix), "%s: %v", in, e)
		}
	})
	t.Run("faults", func(t *testing.T) {
		for place, field := range map[string]Field{
			"fields[0].type":      {To: "x", Type: TypeString, Decimal: ","},
			"fields[0].thousands": {To: "x", Type: TypeNumber, Thousands: "."},
			"fields[0].decimal":   {To: "x", Type: TypeNumber, Decimal: ";"},
		} {
			_, err := New(Config{Fields: []Field{field}})
			expect.That(t, err != nil && strings.Contains(err.Error(), place), "%s: got %v", place, err)
		}
	})
}
