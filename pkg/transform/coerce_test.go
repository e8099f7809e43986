package transform

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestCoerce(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Type
		out      string // empty: refused
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
