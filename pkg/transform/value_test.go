package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestParseValue(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind Kind
		text string
	}{
		{`null`, KindNull, ""}, {`true`, KindBoolean, "true"}, {` false `, KindBoolean, "false"}, {`1.50`, KindNumber, "1.50"},
		{`"a\"b"`, KindString, `a"b`}, {`[1, "x"]`, KindArray, `[1,"x"]`}, {`{"b": 1, "a": null}`, KindObject, `{"b":1,"a":null}`},
	} {
		v, err := ParseValue([]byte(c.in))
		expect.That(t, err == nil && v.Kind() == c.kind && v.Text() == c.text, "S0-10: %s is a %s %q (%v), want %s %q", c.in, v.Kind(), v.Text(), err, c.kind, c.text)
	}
	for _, bad := range []string{``, ` `, `{`, `{}{}`, `{"a":1,"a":1}`, "\"\xff\"", `1e400`, `nul`} {
		v, err := ParseValue([]byte(bad))
		expect.That(t, err != nil, "S0-8: %q is accepted as %s", bad, v.Text())
	}
	_, err := ParseValue(make([]byte, 9<<20))
	expect.That(t, err != nil, "S0-8: 9 MiB are accepted")
}

// S0-10: numbers as people write them are read only as the rule states.
func TestWrittenNumbers_S0_10(t *testing.T) {
	for _, c := range []struct {
		thousands, decimal string
		kind               Type
		in, want           string // an empty want means coercion_failed
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
		{",", "", TypeNumber, `1234.5`, `1234.5`}, // a JSON number needs no conversion
		{",", "", TypeNumber, `"0x12"`, ``},
		{",", "", TypeNumber, `""`, ``},
	} {
		t.Run(c.thousands+c.decimal+c.in, func(t *testing.T) {
			config := Config{Fields: []Field{{To: "x", From: "x", Type: c.kind, Thousands: c.thousands, Decimal: c.decimal}}, Unmapped: UnmappedDrop}
			got, err := apply(t, config, withProperties(`{"x":`+c.in+`}`))
			if c.want == "" {
				must.That(t, err != nil, "got %s", got)
				expect.Equal(t, asError(t, err).Code, classify.CodeCoercionFailed, "got code")
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

func TestCoerce(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Type
		out      string // empty if it is refused
	}{
		{"string", `"a"`, TypeString, `"a"`},
		{"string_of_number", `1.50`, TypeString, `"1.50"`},
		{"string_of_big_number", `9007199254740993`, TypeString, `"9007199254740993"`},
		{"string_of_boolean", `true`, TypeString, `"true"`},
		{"string_of_array", `[]`, TypeString, ``},
		{"string_of_object", `{}`, TypeString, ``},
		{"integer", `12`, TypeInteger, `12`},
		{"integer_of_float", `12.0`, TypeInteger, `12`},
		{"integer_of_exponent", `1.2e1`, TypeInteger, `12`},
		{"integer_of_negative_zero", `-0.0`, TypeInteger, `0`},
		{"integer_max", `9223372036854775807`, TypeInteger, `9223372036854775807`},
		{"integer_min", `-9223372036854775808`, TypeInteger, `-9223372036854775808`},
		{"integer_max_with_exponent", `9.223372036854775807e18`, TypeInteger, `9223372036854775807`},
		{"integer_beyond_64_bits", `9223372036854775808`, TypeInteger, ``},
		{"integer_beyond_64_bits_with_exponent", `1e19`, TypeInteger, ``},
		{"integer_of_fraction", `1.5`, TypeInteger, ``},
		{"integer_of_text", `" +0012 "`, TypeInteger, `12`},
		{"integer_of_text_exact", `"9007199254740993"`, TypeInteger, `9007199254740993`},
		{"integer_of_words", `"12 ha"`, TypeInteger, ``},
		{"integer_of_empty", `""`, TypeInteger, ``},
		{"integer_of_boolean", `true`, TypeInteger, ``},
		{"number", `1.50`, TypeNumber, `1.50`},
		{"number_of_text", `"1.50"`, TypeNumber, `1.50`},
		{"number_of_text_signed", `"+1.5e-3"`, TypeNumber, `1.5e-3`},
		{"number_of_text_without_whole", `"-.5"`, TypeNumber, `-0.5`},
		{"number_of_text_leading_zeros", `"007.10"`, TypeNumber, `7.10`},
		{"number_of_comma", `"1,5"`, TypeNumber, ``},
		{"number_of_hexadecimal", `"0x10"`, TypeNumber, ``},
		{"number_of_nan", `"NaN"`, TypeNumber, ``},
		{"number_of_infinity", `"Infinity"`, TypeNumber, ``},
		{"number_of_underscore", `"1_000"`, TypeNumber, ``},
		{"number_of_a_point", `"."`, TypeNumber, ``},
		{"number_of_a_sign", `"-"`, TypeNumber, ``},
		{"number_of_half_an_exponent", `"1e"`, TypeNumber, ``},
		{"number_of_point_without_fraction", `"1."`, TypeNumber, ``},
		{"number_beyond_double", `"1e400"`, TypeNumber, ``},
		{"boolean", `false`, TypeBoolean, `false`},
		{"boolean_of_word", `" YES "`, TypeBoolean, `true`},
		{"boolean_of_letter", `"f"`, TypeBoolean, `false`},
		{"boolean_of_one", `1.0`, TypeBoolean, `true`},
		{"boolean_of_two", `2`, TypeBoolean, ``},
		{"boolean_of_other_word", `"ja"`, TypeBoolean, ``},
		{"any", `{"a":[1]}`, "", `{"a":[1]}`},
	} {
		t.Run("S0-10_"+c.name, func(t *testing.T) {
			in := must.Get(ParseValue([]byte(c.in)))(t)
			got, ok := coerce(in, c.want)
			expect.That(t, ok == (c.out != "") && (!ok || string(got.AppendJSON(nil)) == c.out), "%s as %s gives %s, %v; want %s", c.in, c.want, got.AppendJSON(nil), ok, c.out)
			expect.That(t, !ok || isOfType(got, c.want), "%s is no %s", got.AppendJSON(nil), c.want)
		})
	}
}
