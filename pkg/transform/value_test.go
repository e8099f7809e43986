package transform

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
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
	if _, err := ParseValue(make([]byte, 9<<20)); err == nil {
		t.Error("S0-8: 9 MiB are accepted")
	}
}

func TestValueAccess(t *testing.T) {
	v := ObjectValue(Member{"a", ArrayValue(IntegerValue(1), NullValue())}, Member{"b", BooleanValue(true)})
	items := v.Members()[0].Value.Items()
	expect.That(t, len(items) == 2 && items[1].IsNull() && !items[0].IsNull(), "items %v", items)
	expect.That(t, v.Members()[1].Value.Bool() && !v.Bool() && v.Items() == nil && NullValue().Members() == nil, "a kind answers for another")
	text, err := json.Marshal(map[string]Value{"x": v})
	want := `{"x":{"a":[1,null],"b":true}}`
	expect.That(t, err == nil && string(text) == want, "got %s, %v", text, err)
	var zero Value
	expect.That(t, zero.IsNull() && zero.Kind() == KindNull && string(zero.AppendJSON(nil)) == "null", "the zero Value is not null")
}

func TestValueOf(t *testing.T) {
	got, err := ValueOf(map[string]any{"s": "x", "i": -1, "j": int64(2), "u": uint64(math.MaxUint64), "f": 0.5, "n": nil, "l": []any{true, map[string]any{}}, "v": StringValue("y")})
	want := `{"f":0.5,"i":-1,"j":2,"l":[true,{}],"n":null,"s":"x","u":18446744073709551615,"v":"y"}`
	expect.That(t, err == nil && got.Text() == want, "got %s, %v\nwant %s", got.Text(), err, want)
	for _, bad := range []any{math.NaN(), math.Inf(-1), struct{}{}, []any{math.NaN()}, map[string]any{"a": []byte{}}} {
		_, err := ValueOf(bad)
		expect.That(t, err != nil, "%v is accepted", bad)
	}
	expect.That(t, NumberValue(math.NaN()).IsNull() && NumberValue(math.Copysign(0, -1)).Text() == "0" && NumberValue(1e21).Text() == "1e+21", "NumberValue")
}

// TestAppendDecimal: one number, one form; another number, another form.
func TestAppendDecimal(t *testing.T) {
	for _, c := range []struct{ literal, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.000", "0"}, {"-0e5", "0"}, {"1", "1"}, {"1.0", "1"}, {"10e-1", "1"}, {"-1.50", "-15e-1"},
		{"1200", "12e2"}, {"1.2E+3", "12e2"}, {"0.0012", "12e-4"}, {"9007199254740993", "9007199254740993"}, {"100000000000000000000001", "100000000000000000000001"},
		{"1e-9223372036854775808", "1e-9223372036854775808"}, {"1E-99999999999999999999", "1e-99999999999999999999"},
	} {
		expect.Equal(t, string(appendDecimal([]byte("x-"), c.literal)), "x-"+c.want, "S2-4", c.literal)
	}
}
