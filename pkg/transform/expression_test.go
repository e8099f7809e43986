package transform

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestExpressions_S0_10(t *testing.T) {
	record := `{"type":"Feature","id":"f1","geometry":{"type":"Point","coordinates":[9.5,47.1]},"properties":{"h":12.5,"n":3,"big":9007199254740993,"name":"Vaduz","tags":["a","b"],"o":{"k":"v"},"odd name":1}}`
	for _, c := range []struct{ expr, want string }{
		{`properties.h * 2`, `25`},
		{`properties.n + 1`, `4`},
		{`properties.big + 1`, `9007199254740994`},
		{`properties.h > 10 ? "high" : "low"`, `"high"`},
		{`properties.name + "-" + string(properties.n)`, `"Vaduz-3"`},
		{`properties.missing ?? "none"`, `"none"`},
		{`properties.o?.k`, `"v"`},
		{`properties["odd name"] == 1`, `true`},
		{`properties.tags`, `["a","b"]`},
		{`join(properties.tags, "|")`, `"a|b"`},
		{`map(properties.tags, upper(#))`, `["A","B"]`},
		{`map(filter(properties.tags, # != "a"), len(properties))`, `[7]`},
		{`len(properties.tags)`, `2`},
		{`properties.name matches "^V"`, `true`},
		{`replace(properties.name, "V", "W")`, `"Waduz"`},
		{`split(properties.name, "d")`, `["Va","uz"]`},
		{`geometry.type`, `"Point"`},
		{`geometry.bbox[0]`, `9.5`},
		{`geometry.positions`, `1`},
		{`id`, `"f1"`},
		{`target.first + 1`, `26`},
		{`let a = properties.h; a + a`, `25`},
		{`{"a": properties.n, "b": nil}`, `{"a":3,"b":null}`},
		{`keys(properties)[0] in ["h","n","big","name","tags","o","odd name"]`, `true`},
	} {
		got, err := apply(t, Config{Fields: []Field{{To: "first", Expr: "properties.h * 2"}, {To: "x", Expr: c.expr}}, Unmapped: UnmappedDrop}, record)
		want := `{"first":25,"x":` + c.want + `}`
		expect.That(t, err == nil && got == want, "%v: got %s, %v, want %s", c.expr, got, err, want)
	}
}

func TestExpressions_S1_9_failures(t *testing.T) {
	list := "[" + strings.Repeat("1,", 2000) + "1]"
	record := withProperties(`{"a":"` + strings.Repeat("x", 40_000) + `","n":1,"zero":0,"list":` + list + `}`)
	for _, text := range []string{
		`properties.missing > 1`, `properties.a * 2`, `properties.n + properties.a`, `properties.n / properties.zero`, `properties.missing.x`,
		`let b = properties.a + properties.a; b + b + b`, `join([properties.a, properties.a], "")`,
		`replace(properties.a, "x", "yyyyyyyyyyyyyyyy")`, `map(properties.list, map(properties.list, #))`, `string(properties.list)`,
	} {
		rule := Field{To: "x", Expr: text}
		_, err := apply(t, Config{Fields: []Field{rule}}, record)
		e := asError(t, err)
		expect.That(t, e.Code == classify.CodeExpressionFailed && e.Rule == "fields[0]" && e.Path == "" && !strings.Contains(e.Message, "\n"), "%v: got %s by %s: %v", text, e.Code, e.Rule, e)
		rule.OnError, rule.Default = OnErrorDefault, "none"
		got, err := apply(t, Config{Fields: []Field{rule}, Unmapped: UnmappedDrop}, record)
		expect.That(t, err == nil && got == `{"x":"none"}`, "%v: on_error default gives %s, %v", text, got, err)
	}
}

func TestFilter(t *testing.T) {
	config := Config{Filter: `properties.kind in ["road", "track"] && properties.lanes > 1 && !any(properties.tags ?? [], # == "old")`, Geometry: GeometryRules{NullGeometry: Reject}}
	for _, c := range []struct{ name, record, want string }{
		{"kept_and_gated", withProperties(`{"kind":"road","lanes":2}`), "geometry_empty"},
		{"left_out_before_the_gates", withProperties(`{"kind":"path","lanes":2}`), "filtered"},
		{"of_a_list", withProperties(`{"kind":"track","lanes":2,"tags":["b","old"]}`), "filtered"},
		{"not_decidable", withProperties(`{"kind":"road","lanes":"two"}`), "expression_failed"},
		{"S1-4_crs_comes_first", `{"type":"Feature","geometry":null,"crs":{"type":"name","properties":{"name":"EPSG:9999999"}},"properties":{"kind":"path"}}`, "unknown_crs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := mustNew(t, config).Apply(t.Context(), []byte(c.record))
			var filtered *FilteredError
			var failed *Error
			switch {
			case errors.As(err, &filtered):
				expect.That(t, c.want == "filtered" && filtered.Feature == "f1", "got %v", err)
			case errors.As(err, &failed):
				expect.That(t, string(failed.Code) == c.want && failed.Stage == classify.StageGate, "got %v", err)
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	for _, text := range []string{`true`, `properties.a + 1`, `target.x == 1`, `geometry.type`, `1`} {
		_, err := New(Config{Filter: text})
		if text == `properties.a + 1` && err == nil {
			continue // only a record can show that it is not a boolean
		}
		checkFault(t, err, "filter")
	}
}

func TestID_S0_6(t *testing.T) {
	record := `{"type":"Feature","id":"f1","geometry":null,"properties":{"b":1.0,"a":"x","n":17}}`
	same := `{"properties":{"n":17,"a":"x","b":1},"geometry":{"type":"Point","coordinates":[1,2]},"id":"f1","type":"Feature"}`
	other := `{"type":"Feature","id":"f1","geometry":null,"properties":{"b":2,"a":"x","n":17}}`
	idOf := func(rule IDRule, record string) string {
		f, err := mustNew(t, Config{ID: &rule, Unmapped: UnmappedDrop}).Apply(t.Context(), []byte(record))
		if err != nil {
			return string(asError(t, err).Code)
		}
		return string(f.ID.AppendJSON(nil))
	}
	hashed := idOf(IDRule{Hash: true}, record)
	expect.That(t, len(hashed) == len(`"f1-"`)+16 && strings.HasPrefix(hashed, `"f1-`), "got %s", hashed)
	expect.Equal(t, idOf(IDRule{Hash: true}, same), hashed, "the same attributes, written otherwise, have")
	expect.That(t, idOf(IDRule{Hash: true}, other) != hashed, "other attributes have %s too", hashed)
	for _, c := range []struct {
		rule         IDRule
		record, want string
	}{
		{IDRule{From: "properties.n"}, record, `17`},
		{IDRule{From: "properties.a"}, record, `"x"`},
		{IDRule{Expr: `properties.a + "/" + string(properties.n)`}, record, `"x/17"`},
		{IDRule{Expr: `join(map(["n", "b"], string(properties[#])), "/")`}, record, `"17/1"`},
		{IDRule{From: "properties.none"}, record, "missing_required"},
		{IDRule{Hash: true}, withoutID, "missing_required"},
		{IDRule{From: "properties.l"}, `{"type":"Feature","geometry":null,"properties":{"l":[1]}}`, "wrong_type"},
		{IDRule{Expr: `properties.a.b.c`}, record, "expression_failed"},
	} {
		expect.Equal(t, idOf(c.rule, c.record), c.want, c.rule)
	}
	for path, rule := range map[string]IDRule{
		"id": {From: "id"}, "id.from": {From: "name"}, "id.expr": {Expr: `"a"`},
	} {
		_, err := New(Config{ID: &rule})
		checkFault(t, err, path)
	}
}

const withoutID = `{"type":"Feature","geometry":null,"properties":{"a":1}}`

// Errors name the types of an expression, not those of this program.
func TestExpressions_nameNoTypeOfGo(t *testing.T) {
	for text, want := range map[string]string{
		`Feature.properties.name`:                      "unknown name Feature",
		`geometry.foo`:                                 "type geometry has no field foo",
		`[geometry]`:                                   "the geometry cannot be a result; name a member of it",
		`properties.name + geometry`:                   "string and geometry cannot be added",
		`string(geometry)`:                             "geometry has no text",
		`string(split(properties.name, ","))`:          "an array has no text",
		`string({"a": [geometry]})`:                    "an object has no text",
		`string(properties.name < "a" ? 1 : geometry)`: "geometry has no text",
		`type(geometry) == "geometry" ? 1 / 0 : ""`:    "the result is not a finite number",
	} {
		tr, err := New(Config{Fields: []Field{{To: "x", Expr: text}}})
		if err == nil {
			_, err = tr.Apply(t.Context(), []byte(withProperties(`{"name":"b"}`)))
		}
		expect.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "transform."), "%s: got %v", text, err)
	}
}

// An expression returns the exact result or an error: it overflows no number and splits no character.
func TestExpressions_S0_10_exact(t *testing.T) {
	record := `{"type":"Feature","id":"f1","geometry":null,"properties":{"most":9223372036854775807,"least":-9223372036854775808,"big":4611686018427387904,` +
		`"f":1.5e19,"name":"Zürich-Höngg","o":{"z":1,"y":2,"x":3,"w":4,"v":5,"u":6},"tags":["a","b","c"],"neg":-7}}`
	for expression, want := range map[string]string{
		`properties.most + 1`: "", `1 + properties.most`: "", `properties.least - 1`: "", `properties.big * 2`: "", `properties.big * -2`: "-9223372036854775808",
		`properties.least * -1`: "", `-properties.least`: "", `-properties.most`: "-9223372036854775807", `properties.most - 1`: "9223372036854775806",
		`properties.most + -1`: "9223372036854775806", `properties.neg * properties.neg`: "49", `-properties.neg`: "7", `2 * -3 + properties.neg`: "-13",
		`properties.f * 2`: "30000000000000000000", `float(properties.most) + 1`: "9223372036854776000", `-properties.f`: "-15000000000000000000",
		`int(properties.f)`: "", `int(-properties.f)`: "", `int(2.9) + properties.neg`: "-5", `int("12") + properties.neg`: "5", `int(properties.name)`: "",
		`int("9223372036854775808") + properties.neg`: "", `properties.name - 1`: "", `properties.tags * 2`: "", `-properties.name`: "",

		`properties.name[0:3]`: `"Zür"`, `properties.name[3:]`: `"ich-Höngg"`, `properties.name[:2]`: `"Zü"`, `properties.name[-5:]`: `"Höngg"`,
		`properties.name[0:len(properties.name) - 1]`: `"Zürich-Höng"`, `properties.name[indexOf(properties.name, "-") + 1:]`: `"Höngg"`,
		`upper(properties.name[:2])`: `"ZÜ"`, `properties.name[5:2]`: `""`, `properties.name[99:]`: `""`, `properties.name[:-99]`: `""`, `properties.name[1.5:]`: "",
		`indexOf(properties.name, "g")`: "10", `lastIndexOf(properties.name, "g")`: "11", `indexOf(properties.name, "q")`: "-1",
		`properties.tags[1:]`: `["b","c"]`, `properties.tags[:2]`: `["a","b"]`, `properties.tags[-1:]`: `["c"]`, `properties.tags[1:99]`: `["b","c"]`,
		`geometry.bbox[1:]`: `[]`, `properties.most[1:]`: "",

		`join(keys(properties.o), "")`: `"uvwxyz"`, `values(properties.o)`: `[6,5,4,3,2,1]`, `keys(properties.name)`: "", `values(properties.missing)`: "",
	} {
		t.Run(expression, func(t *testing.T) { checkExpression(t, record, expression, want, "") })
	}
}

// checkExpression evaluates an expression over a record. If want is empty, the expression must fail with a message that
// contains says.
func checkExpression(t *testing.T, record, text, want, says string) {
	t.Helper()
	got, err := apply(t, Config{Fields: []Field{{To: "x", Expr: text}}, Unmapped: UnmappedDrop}, record)
	if want != "" {
		expect.That(t, err == nil && got == `{"x":`+want+`}`, "got %s, %v, want %s", got, err, want)
		return
	}
	must.That(t, err != nil, "has the result %s", got)
	e := asError(t, err)
	expect.That(t, e.Code == classify.CodeExpressionFailed && strings.Contains(e.Message, says) && !strings.Contains(e.Message, "panic") && !strings.Contains(e.Message, "transform."), "got %s: %v", e.Code, e)
}

// An expression ends for every record: a nested loop over a long list or a long text is refused.
func TestExpressions_S1_9_endSoon(t *testing.T) {
	long := `{"type":"Feature","id":"f1","geometry":null,"properties":{"list":[` + strings.Repeat("1,", 100_000) + `1],"text":"` + strings.Repeat("x", 100_000) + `"}}`
	short := `{"type":"Feature","id":"f1","geometry":null,"properties":{"list":[` + strings.Repeat("1,", 500) + `1],"text":"xy"}}`
	for _, expression := range []string{
		`count(properties.list, count(properties.list, # > 2) > 1)`, `count(split(properties.text, ""), count(split(properties.text, ""), # == "y") > 1)`,
		`map(properties.list, len(split(properties.text, "")))`, `sum(properties.list, count(properties.list, # == 1)) > 0`,
	} {
		tr := mustNew(t, Config{Fields: []Field{{To: "x", Expr: expression}}})
		_, err := tr.Apply(t.Context(), []byte(long))
		expect.That(t, err != nil && asError(t, err).Code == classify.CodeExpressionFailed && strings.Contains(err.Error(), "steps"), "%v: a long record: %v", expression, err)
		_, err = tr.Apply(t.Context(), []byte(short))
		expect.That(t, err == nil, "%v: a short record: %v", expression, err)
	}
}

func TestRecordExpression(t *testing.T) {
	value := must.Get(ParseValue([]byte(`{"status":"open","n":9223372036854775807,"big":92233720368547758070,"list":[1,2,3],"deep":{"a":null}}`)))(t)
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
	for text, want := range map[string]string{
		`value.status == "OPEN" ? value.stauts : value.x.y`: "value.stauts value.x.y", `value.list[0]`: "", `value.list[9] + value.list[9]`: "value.list.9",
		`value.x ?? value.x?.y`: "", `value.x == nil || value.deep?.z.b == 1`: "", `len(filter(value.list, # > value.most))`: "value.most", `value["a b"]`: "value.a b", `key`: "", `value`: "",
	} {
		expect.Equal(t, strings.Join(must.Get(CompileRecordExpression(text))(t).Absent(facts.Value), " "), want, text)
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

// S0-10: whole numbers beyond 64 bits keep their digits, or the expression fails. None silently becomes a double.
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
		`properties.two == 18446744073709551615.0`:    `true`, // the same double
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

// S0-10: a whole number that is written with zeros after the point is the same number: 18446744073709551615.0 is not a
// double.
func TestExpressions_S0_10_wholeNumbersWithZerosBehindThePoint(t *testing.T) {
	record := withProperties(`{"a":18446744073709551615.0,"b":18446744073709551614.00,"c":18446744073709551615,"power":18446744073709551616.0,"double":1.8446744073709552e19,"least":-10203040506070809091.0,"most":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993}`)
	for text, want := range map[string]string{
		`properties.a`:                          `18446744073709551615`,
		`properties.least`:                      `-10203040506070809091`,
		`properties.a == properties.b`:          `false`,
		`properties.a == properties.c`:          `true`,
		`string(properties.a)`:                  `"18446744073709551615"`,
		`properties.power + 0`:                  `18446744073709552000`, // exactly a double, as programs write it
		`properties.power == properties.double`: `true`,
		`properties.double * 2`:                 `36893488147419103000`,
		// every operator and function that compares agrees
		`properties.power in [properties.double]`:                              `true`,
		`properties.power not in [properties.double]`:                          `false`,
		`[properties.power] == [properties.double]`:                            `true`,
		`{"x": properties.power} != {"x": [properties.double]}`:                `true`,
		`{"x": properties.power} == {"x": properties.double}`:                  `true`,
		`properties.a in [properties.b, "x"]`:                                  `false`,
		`"a" in properties`:                                                    `true`,
		`properties.most in [9223372036854775807] && properties.odd in [1]`:    `false`,
		`[round(properties.odd), floor(properties.odd), ceil(properties.odd)]`: `[9007199254740993,9007199254740993,9007199254740993]`,
		`abs(-properties.odd)`:                                                 `9007199254740993`,
		`properties.odd > 0 ? round(1.5) + abs(-0.5) : 0`:                      `2.5`,
		`sum([properties.odd, 1])`:                                             `9007199254740994`,
		`properties.odd > 0 ? sum([1, 2], # * 2) + sum([]) : 0`:                `6`,
	} {
		t.Run(text, func(t *testing.T) { checkExpression(t, record, text, want, "") })
	}
	for _, text := range []string{`properties.a + 0`, `properties.a < properties.b`, `max(properties.a, 1)`, `-properties.a`, `int(properties.a)`,
		`sum([properties.most, 1])`, `sum([1], properties.most + #)`, `abs(properties.min)`, `sum([1, properties.a])`} {
		t.Run(text, func(t *testing.T) { checkExpression(t, record, text, "", "more than 64 bits") })
	}
}
