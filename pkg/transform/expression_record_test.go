package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestRecordExpression(t *testing.T) {
	value, err := ParseValue([]byte(`{"status":"open","n":9223372036854775807,"big":92233720368547758070,"list":[1,2,3],"deep":{"a":null}}`))
	must.Do(t, err)
	facts := RecordFacts{Value: value, Key: "k-1", Headers: map[string]string{"tenant": "acme"}}
	for text, want := range map[string]string{
		`upper(value.status)`:                `"OPEN"`,
		`value.missing ?? "none"`:            `"none"`,
		`key + "/" + headers["tenant"]`:      `"k-1/acme"`,
		`headers["absent"] == nil`:           `true`,
		`map(value.list, # * 2)`:             `[2,4,6]`,
		`value.big`:                          `92233720368547758070`,
		`{"b": 1, "a": value.deep}`:          `{"a":{"a":null},"b":1}`,
		`value.deep?.a?.b`:                   `null`,
		`len(filter(value.list, # > 1)) > 1`: `true`,
	} {
		e := must.Get(CompileRecordExpression(text))(t)
		got, err := e.Eval(facts)
		expect.That(t, err == nil && string(got.AppendJSON(nil)) == want, "%s: %s, %v; want %s", text, got.AppendJSON(nil), err, want)
	}
	for text, want := range map[string]string{
		`value.n + 1`:        "64 bits",
		`value.deep.a.b`:     "nil",
		`upper(value.n)`:     "",
		`value.list[9]`:      "out of range",
		`value.big + 1`:      "64 bits",
		`value.status * "x"`: "cannot be multiplied",
	} {
		e := must.Get(CompileRecordExpression(text))(t)
		got, err := e.Eval(facts)
		expect.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "\n"), "%s: %s, %v; want an error with %q", text, got.AppendJSON(nil), err, want)
	}
	for _, text := range []string{"", "value.", "properties.a", "$env", "1..1000000000", "now()", `map(value.list, map(value.list, map(value.list, 1)))`} {
		_, err := CompileRecordExpression(text)
		expect.That(t, err != nil, "%q is accepted", text)
	}
}

// A loop over a hostile list ends.
func TestRecordExpression_S0_8_endsSoon(t *testing.T) {
	value := must.Get(ParseValue([]byte("[" + strings.Repeat("1,", 99_999) + "1]")))(t)
	e := must.Get(CompileRecordExpression(`count(value, any(value, # == 2))`))(t)
	_, err := e.Eval(RecordFacts{Value: value})
	expect.That(t, err != nil && strings.Contains(err.Error(), "2 million steps"), "%v", err)
}
