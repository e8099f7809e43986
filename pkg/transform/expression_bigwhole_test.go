package transform

import (
	"testing"
)

// S0-10: whole numbers beyond 64 bits keep their digits, or the expression fails. None becomes a double in silence.
func TestExpressions_S0_10_wholeNumbersBeyond64BitsStayApart(t *testing.T) {
	record := withProperties(`{"s2":10203040506070809090,"other":10203040506070809091,"least":-10203040506070809090,"two":18446744073709551616,
		"list":[10203040506070809090,1],"in":{"id":10203040506070809091},"half":1.5}`)
	for text, want := range map[string]string{
		`properties.s2`:                               `10203040506070809090`,
		`properties.least`:                            `-10203040506070809090`,
		`string(properties.s2)`:                       `"10203040506070809090"`,
		`properties.s2 == properties.other`:           `false`,
		`properties.s2 != properties.other`:           `true`,
		`properties.other == properties.in.id`:        `true`,
		`properties.two == 18446744073709551616.0`:    `true`,
		`18446744073709551616.0 == properties.two`:    `true`,
		`properties.two == 18446744073709551615.0`:    `true`, // one double
		`properties.s2 == 1`:                          `false`,
		`properties.s2 == "10203040506070809090"`:     `false`,
		`properties.other in properties.list`:         `false`,
		`properties.s2 in properties.list`:            `true`,
		`properties.list`:                             `[10203040506070809090,1]`,
		`properties.s2 ?? 0`:                          `10203040506070809090`,
		`join(properties.list, "-")`:                  `"10203040506070809090-1"`,
		`float(properties.two)`:                       `18446744073709552000`,
		`type(properties.s2)`:                         `"int"`,
		`properties.half == 1.5 ? properties.s2 : 0`:  `10203040506070809090`,
		`filter(properties.list, # == properties.s2)`: `[10203040506070809090]`,
		`{"a": properties.s2}`:                        `{"a":10203040506070809090}`,
	} {
		t.Run(text, func(t *testing.T) { checkExpression(t, record, text, want, "") })
	}
	for _, text := range []string{
		`properties.s2 + 0`, `0 + properties.s2`, `properties.s2 - properties.other`, `properties.s2 * 1`, `properties.s2 / 2`, `properties.s2 % 2`, `properties.s2 ** 2`,
		`-properties.s2`, `properties.s2 < properties.other`, `properties.s2 >= 0`, `1.5 > properties.s2`, `properties.s2 + "x"`,
		`max(properties.s2, properties.other)`, `min(properties.list)`, `max(1, properties.s2)`, `sum(properties.list)`, `abs(properties.s2)`, `round(properties.s2)`, `floor(properties.s2)`,
		`ceil(properties.s2)`, `int(properties.s2)`, `properties.s2 matches "^1"`, `len(properties.s2)`, `properties.s2 contains "1"`, `split(properties.s2, "1")`, `properties.s2[0:2]`, `not properties.s2`,
	} {
		t.Run(text, func(t *testing.T) { checkExpression(t, record, text, "", "") })
	}
}

// S0-10: a whole number that is written with decimals, all of them zeros, is the same number: 18446744073709551615.0 is no double.
func TestExpressions_S0_10_wholeNumbersWithZerosBehindThePoint(t *testing.T) {
	record := withProperties(`{"a":18446744073709551615.0,"b":18446744073709551614.00,"c":18446744073709551615,"power":18446744073709551616.0,"double":1.8446744073709552e19,"least":-10203040506070809091.0}`)
	for text, want := range map[string]string{
		`properties.a`:                          `18446744073709551615`,
		`properties.least`:                      `-10203040506070809091`,
		`properties.a == properties.b`:          `false`,
		`properties.a == properties.c`:          `true`,
		`string(properties.a)`:                  `"18446744073709551615"`,
		`properties.power + 0`:                  `18446744073709552000`, // exactly a double, as a program writes it
		`properties.power == properties.double`: `true`,
		`properties.double * 2`:                 `36893488147419103000`,
	} {
		t.Run(text, func(t *testing.T) { checkExpression(t, record, text, want, "") })
	}
	for _, text := range []string{`properties.a + 0`, `properties.a < properties.b`, `max(properties.a, 1)`, `-properties.a`, `int(properties.a)`} {
		t.Run(text, func(t *testing.T) { checkExpression(t, record, text, "", "more than 64 bits") })
	}
}
