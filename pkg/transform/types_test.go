package transform

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// convertOne runs one JSON value through one rule that writes x.
func convertOne(tb testing.TB, field Field, value string) (string, error) {
	tb.Helper()
	field.From, field.To = "v", "x"
	got, err := apply(tb, Config{Fields: []Field{field}, Sets: map[string]Set{"zones": keys{"W2": true, "17": true}}}, withProperties(`{"v":`+value+`}`))
	return strings.TrimSuffix(strings.TrimPrefix(got, `{"x":`), "}"), err
}

// keys is a reference set.
type keys map[string]bool

func (k keys) Has(key string) bool { return k[key] }

func TestTypes_S0_10_values(t *testing.T) {
	day := func(formats ...string) Field { return Field{Type: TypeDate, Formats: formats} }
	at := func(zone string, formats ...string) Field {
		return Field{Type: TypeDateTime, Formats: formats, TimeZone: zone}
	}
	unit := func(from, to string) Field { return Field{Type: TypeNumber, Units: &Units{from, to}} }
	for _, c := range []struct {
		name     string
		field    Field
		in, want string
	}{
		{"date", day(), `"2026-11-21"`, `"2026-11-21"`},
		{"date_swiss", day("%d.%m.%Y"), `"21.11.2026"`, `"2026-11-21"`},
		{"date_second_format", day("%Y-%m-%d", "%Y%m%d"), `20261121`, `"2026-11-21"`},
		{"date_month_name", day("%e %b %Y"), `"5 Nov 2026"`, `"2026-11-05"`},
		{"date_without_zeros", day("%-d.%-m.%Y"), `"5.3.2026"`, `"2026-03-05"`},
		{"date_day_of_year", day("%Y-%j"), `"2026-325"`, `"2026-11-21"`},
		{"date_leap_day", day(), `"2024-02-29"`, `"2024-02-29"`},
		{"date_of_a_time_as_written", day("rfc3339"), `"2026-11-21T23:30:00-05:00"`, `"2026-11-21"`},
		{"date_of_a_time_in_a_zone", Field{Type: TypeDate, Formats: []string{"rfc3339"}, TimeZone: "Europe/Zurich"}, `"2026-11-21T23:30:00Z"`, `"2026-11-22"`},
		{"date_where_midnight_is_not", Field{Type: TypeDate, TimeZone: "America/Sao_Paulo"}, `"2018-11-04"`, `"2018-11-04"`},
		{"datetime", at(""), `"2026-11-21T10:00:00.250+01:00"`, `"2026-11-21T09:00:00.25Z"`},
		{"datetime_space_and_small_letters", at(""), `"2026-11-21 10:00:00z"`, `"2026-11-21T10:00:00Z"`},
		{"datetime_offset_of_a_day_but_a_minute", at(""), `"2026-11-21T10:00:00-23:59"`, `"2026-11-22T09:59:00Z"`},
		{"datetime_zone", at("Europe/Zurich", "%d.%m.%Y %H:%M"), `"21.07.2026 10:00"`, `"2026-07-21T08:00:00Z"`},
		{"datetime_zone_is_not_for_offsets", at("Europe/Zurich"), `"2026-07-21T10:00:00Z"`, `"2026-07-21T10:00:00Z"`},
		{"datetime_shown_twice_is_the_first", at("Europe/Zurich", "%Y-%m-%d %H:%M"), `"2026-10-25 02:30"`, `"2026-10-25T00:30:00Z"`},
		{"datetime_unix", at("", "unix"), `1795000000`, `"2026-11-18T11:06:40Z"`},
		{"datetime_unix_fraction", at("", "unix"), `"1795000000.5"`, `"2026-11-18T11:06:40.5Z"`},
		{"datetime_unix_ms", at("", "unix_ms"), `1795000000123`, `"2026-11-18T11:06:40.123Z"`},
		{"datetime_fraction_and_offset", at("", "%Y-%m-%dT%H:%M:%S.%f%z"), `"2026-11-21T10:00:00.123456+0130"`, `"2026-11-21T08:30:00.123456Z"`},
		{"enum", Field{Type: TypeEnum, Values: []string{"W2", "W3"}}, `"W3"`, `"W3"`},
		{"enum_of_a_number", Field{Type: TypeEnum, Values: []string{"1", "2"}}, `2`, `"2"`},
		{"decimal_keeps_zeros", Field{Type: TypeDecimal}, `1234.50`, `"1234.50"`},
		{"decimal_long", Field{Type: TypeDecimal}, `"12345678901234567890.12345678901234567890"`, `"12345678901234567890.12345678901234567890"`},
		{"decimal_exponent", Field{Type: TypeDecimal}, `1.5e3`, `"1500"`},
		{"decimal_negative_exponent", Field{Type: TypeDecimal}, `-12.5e-4`, `"-0.00125"`},
		{"decimal_zero", Field{Type: TypeDecimal}, `0e5`, `"0"`},
		{"array", Field{Type: TypeArray}, `[1,"a"]`, `[1,"a"]`},
		{"object", Field{Type: TypeObject}, `{"a":1}`, `{"a":1}`},
		{"units_feet", unit("ft", "m"), `10`, `3.048`},
		{"units_survey_feet", unit("us_ft", "m"), `3937`, `1200`},
		{"units_acres", unit("acre", "ha"), `"2.5"`, `1.01171410560`},
		{"units_hectares", unit("ha", "m2"), `0.1234`, `1234`},
		{"units_fahrenheit", unit("degF", "degC"), `212`, `100`},
		{"units_kelvin", unit("degC", "K"), `20`, `293.15`},
		{"units_knots", unit("kn", "km/h"), `10`, `18.52`},
		{"units_gon", unit("gon", "deg"), `200`, `180`},
		{"map", Field{Map: map[string]any{"W2": "residential", "I": "industrial"}}, `"W2"`, `"residential"`},
		{"map_of_numbers", Field{Type: TypeBoolean, Map: map[string]any{"1": true, "9": nil}}, `1`, `true`},
		{"map_to_null", Field{Type: TypeBoolean, Map: map[string]any{"1": true, "9": nil}}, `9`, `null`},
		{"map_unlisted_kept", Field{Map: map[string]any{"a": "b"}, Unlisted: UnlistedKeep}, `"c"`, `"c"`},
		{"map_then_enum", Field{Type: TypeEnum, Values: []string{"x"}, Map: map[string]any{"a": "x"}}, `"a"`, `"x"`},
		{"extract", Field{Type: TypeInteger, Extract: `^ca\. ([0-9]+) m`}, `"ca. 120 m"`, `120`},
		{"extract_then_null_word", Field{Extract: `:(.*)$`, NullValues: []any{""}}, `"a:"`, `null`},
		{"extract_of_a_number", Field{Extract: `^([0-9]{2})`}, `8050`, `"80"`},
		{"reference", Field{References: &FieldReference{Set: "zones", Mandatory: true}}, `"W2"`, `"W2"`},
		{"reference_by_number", Field{References: &FieldReference{Set: "zones"}}, `17`, `17`},
		{"reference_null_refers_to_nothing", Field{References: &FieldReference{Set: "zones", Mandatory: true}}, `null`, `null`},
		{"reference_not_mandatory", Field{References: &FieldReference{Set: "zones"}, OnError: OnErrorNull}, `"W9"`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(convertOne(t, c.field, c.in))(t)
			if got == c.want {
				return
			}
			var a, b float64 // 1.0117 and 1.01170 are the same number
			expect.That(t, json.Unmarshal([]byte(got), &a) == nil && json.Unmarshal([]byte(c.want), &b) == nil && a == b, "got %s, want %s", got, c.want)
		})
	}
}

func TestTypes_S1_2_refused(t *testing.T) {
	zurich := Field{Type: TypeDateTime, Formats: []string{"%Y-%m-%d %H:%M"}, TimeZone: "Europe/Zurich"}
	zones := &FieldReference{Set: "zones", Mandatory: true}
	for _, c := range []struct {
		name  string
		field Field
		in    string
		code  classify.Code
		word  string // a part of the message
	}{
		{"date_text", Field{Type: TypeDate}, `"21.11.2026"`, classify.CodeCoercionFailed, "formats"},
		{"date_that_is_none", Field{Type: TypeDate}, `"2026-02-30"`, classify.CodeCoercionFailed, "formats"},
		{"date_and_more", Field{Type: TypeDate}, `"2026-02-20x"`, classify.CodeCoercionFailed, "formats"},
		{"datetime_without_offset", Field{Type: TypeDateTime}, `"2026-11-21T10:00:00"`, classify.CodeCoercionFailed, "time_zone"},
		{"datetime_offset_of_a_day", Field{Type: TypeDateTime}, `"2026-11-21T10:00:00+24:00"`, classify.CodeCoercionFailed, "formats"},
		{"datetime_offset_of_sixty_minutes", Field{Type: TypeDateTime}, `"2026-11-21T10:00:00+01:60"`, classify.CodeCoercionFailed, "formats"},
		{"datetime_hour_of_one_digit", Field{Type: TypeDateTime}, `"2026-11-21T9:00:00Z"`, classify.CodeCoercionFailed, "formats"},
		{"datetime_comma", Field{Type: TypeDateTime}, `"2026-11-21T09:00:00,5Z"`, classify.CodeCoercionFailed, "formats"},
		{"datetime_in_a_gap", zurich, `"2026-03-29 02:30"`, classify.CodeCoercionFailed, "does not exist"},
		{"datetime_far", Field{Type: TypeDateTime, Formats: []string{"unix"}}, `1e14`, classify.CodeCoercionFailed, "four digits"},
		{"datetime_beyond", Field{Type: TypeDateTime, Formats: []string{"unix"}}, `1e200`, classify.CodeCoercionFailed, "four digits"},
		{"enum", Field{Type: TypeEnum, Values: []string{"a"}}, `"A"`, classify.CodeValueNotAllowed, "none of"},
		{"map", Field{Map: map[string]any{"a": 1}}, `"b"`, classify.CodeValueNotAllowed, "map"},
		{"map_of_an_array", Field{Map: map[string]any{"[1]": 1}}, `[1]`, classify.CodeValueNotAllowed, "map"},
		{"extract", Field{Extract: `^([0-9]+)$`}, `"12a"`, classify.CodeCoercionFailed, "match"},
		{"decimal", Field{Type: TypeDecimal}, `"1,5"`, classify.CodeCoercionFailed, "decimal"},
		{"decimal_too_long", Field{Type: TypeDecimal}, `1e-4000`, classify.CodeCoercionFailed, "decimal"},
		{"S0-8_unique_items", Field{Type: TypeArray, Unique: true}, `[1, {"a":1,"b":2}, "1", {"b":2,"a":1.0}]`, classify.CodeValueNotAllowed, "item 1 again as item 3"},
		{"array", Field{Type: TypeArray}, `"[1]"`, classify.CodeCoercionFailed, "array"},
		{"object", Field{Type: TypeObject}, `[]`, classify.CodeCoercionFailed, "object"},
		{"integer_beyond_64_bits", Field{Type: TypeInteger}, `9223372036854775808`, classify.CodeNumberPrecision, "64 bits"},
		{"integer_text_beyond_64_bits", Field{Type: TypeInteger}, `"92233720368547758080"`, classify.CodeNumberPrecision, "64 bits"},
		{"integer_fraction", Field{Type: TypeInteger}, `1.5`, classify.CodeCoercionFailed, "integer"},
		{"units_overflow", Field{Type: TypeNumber, Units: &Units{"km", "m"}}, `1.7e308`, classify.CodeNumberRange, "beyond"},
		{"S0-8_key_unresolved", Field{References: zones}, `"W9"`, classify.CodeForeignKeyUnresolved, "is not a key of"},
		{"S0-9_key_empty", Field{References: zones}, `""`, classify.CodeForeignKeyEmpty, "empty"},
		{"S0-9_mandatory_key_whatever_on_error", Field{References: zones, OnError: OnErrorNull}, `""`, classify.CodeForeignKeyEmpty, "empty"},
		{"S0-9_empty_key_not_mandatory_holds_nothing", Field{References: &FieldReference{Set: "zones"}}, `""`, classify.CodeForeignKeyUnresolved, "is not a key of"},
		{"key_not_mandatory_rejected", Field{References: &FieldReference{Set: "zones"}}, `"W9"`, classify.CodeForeignKeyUnresolved, "is not a key of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := convertOne(t, c.field, c.in)
			must.That(t, err != nil, "it became %s", got)
			e := asError(t, err)
			expect.That(t, e.Code == c.code && strings.Contains(e.Message, c.word) && e.Path == "/properties/v" && e.Rule == "fields[0]" && e.Fix != "", "got %s at %s by %s: %v", e.Code, e.Path, e.Rule, e)
			if c.field.OnError == "" {
				c.field.OnError = OnErrorNull
				if c.field.References == zones {
					return
				}
				got, err := convertOne(t, c.field, c.in)
				expect.That(t, err == nil && got == "null", "on_error null results in %s, %v", got, err)
			}
		})
	}
}

// Faults of a rule are found when the config is loaded, with their place.
func TestRuleFaults_S0_1(t *testing.T) {
	for _, c := range []struct {
		name  string
		field Field
		path  string
	}{
		{"format_unknown_directive", Field{Type: TypeDate, Formats: []string{"%Y-%m-%d", "%Q"}}, "fields[0].formats[1]"},
		{"format_without_day", Field{Type: TypeDate, Formats: []string{"%Y-%m"}}, "fields[0].formats[0]"},
		{"format_go_layout", Field{Type: TypeDate, Formats: []string{"2006-01-02"}}, "fields[0].formats[0]"},
		{"format_lone_fraction", Field{Type: TypeDateTime, Formats: []string{"%Y-%m-%d %f"}}, "fields[0].formats[0]"},
		{"format_twice", Field{Type: TypeDateTime, Formats: []string{"unix", "unix"}}, "fields[0].formats[1]"},
		{"format_ends_in_percent", Field{Type: TypeDate, Formats: []string{"%Y-%m-%d%"}}, "fields[0].formats[0]"},
		{"formats_of_a_number", Field{Type: TypeNumber, Formats: []string{"unix"}}, "fields[0].formats"},
		{"zone_unknown", Field{Type: TypeDateTime, TimeZone: "Europe/Zurch"}, "fields[0].time_zone"},
		{"zone_of_this_machine", Field{Type: TypeDateTime, TimeZone: "Local"}, "fields[0].time_zone"},
		{"zone_of_a_text", Field{TimeZone: "UTC"}, "fields[0].time_zone"},
		{"enum_without_values", Field{Type: TypeEnum}, "fields[0].values"},
		{"values_without_enum", Field{Type: TypeString, Values: []string{"a"}}, "fields[0].values"},
		{"values_twice", Field{Type: TypeEnum, Values: []string{"a", "a"}}, "fields[0].values[1]"},
		{"extract_broken", Field{Extract: "("}, "fields[0].extract"},
		{"extract_no_group", Field{Extract: "[0-9]+"}, "fields[0].extract"},
		{"extract_two_groups", Field{Extract: "(a)(b)"}, "fields[0].extract"},
		{"extract_lookahead", Field{Extract: "(?=a)(b)"}, "fields[0].extract"},
		{"extract_into_an_array", Field{Type: TypeArray, Extract: "(a)"}, "fields[0].extract"},
		{"unlisted_without_map", Field{Unlisted: UnlistedKeep}, "fields[0].unlisted"},
		{"unlisted_word", Field{Map: map[string]any{"a": 1}, Unlisted: "drop"}, "fields[0].unlisted"},
		{"map_to_another_type", Field{Type: TypeInteger, Map: map[string]any{"a": "b"}}, "fields[0].map.a"},
		{"map_to_another_word", Field{Type: TypeEnum, Values: []string{"x"}, Map: map[string]any{"a": "y"}}, "fields[0].map.a"},
		{"map_that_null_words_hide", Field{Map: map[string]any{"N/A": "none"}, NullValues: []any{"N/A"}}, "fields[0].null_values[0]"},
		{"unit_unknown", Field{Type: TypeNumber, Units: &Units{"feet", "m"}}, "fields[0].units.from"},
		{"unit_unknown_target", Field{Type: TypeNumber, Units: &Units{"ft", "M"}}, "fields[0].units.to"},
		{"units_of_two_quantities", Field{Type: TypeNumber, Units: &Units{"ft", "ha"}}, "fields[0].units"},
		{"units_the_same", Field{Type: TypeNumber, Units: &Units{"m", "m"}}, "fields[0].units"},
		{"units_of_a_text", Field{Units: &Units{"ft", "m"}}, "fields[0].units"},
		{"reference_without_set", Field{References: &FieldReference{}}, "fields[0].references.set"},
		{"reference_unknown", Field{References: &FieldReference{Set: "zone"}}, "fields[0].references.set"},
		{"default_of_another_word", Field{Type: TypeEnum, Values: []string{"x"}, OnError: OnErrorDefault, Default: "y"}, "fields[0].default"},
		{"default_no_date", Field{Type: TypeDate, OnError: OnErrorDefault, Default: "21.11.2026"}, "fields[0].default"},
		{"expr_and_from", Field{From: "a", Expr: "properties.a"}, "fields[0].from"},
		{"expr_syntax", Field{Expr: "properties.a +"}, "fields[0].expr"},
		{"expr_unknown_name", Field{Expr: "propertys.a"}, "fields[0].expr"},
		{"expr_unknown_function", Field{Expr: "centroid(properties.a)"}, "fields[0].expr"},
		{"expr_clock", Field{Expr: "now()"}, "fields[0].expr"},
		{"expr_reads_nothing", Field{Expr: `"a" + "b"`}, "fields[0].expr"},
		{"expr_range", Field{Expr: "map(1..properties.a, 1)"}, "fields[0].expr"},
		{"expr_pattern_of_the_record", Field{Expr: "properties.a matches properties.b"}, "fields[0].expr"},
		{"expr_loops", Field{Expr: "map(properties.a, map(#, map(#, #)))"}, "fields[0].expr"},
		{"unique_of_a_text", Field{Type: TypeString, Unique: true}, "fields[0].unique"},
		{"expr_environment", Field{Expr: `$env["id"]`}, "fields[0].expr"},
		{"expr_too_long", Field{Expr: "properties.a" + strings.Repeat(" + 1", 300)}, "fields[0].expr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.field.To = "x"
			_, err := New(Config{Fields: []Field{c.field}})
			checkFault(t, err, c.path)
		})
	}
	config := Config{Fields: []Field{{To: "x", References: &FieldReference{Set: "later"}}}}
	checkFault(t, Check(config), "fields[0].references.set")
	config.References = []Reference{{Name: "later", File: "zones.csv", Column: "code"}}
	expect.Do(t, Check(config), "a set that is loaded later")
	_, err := New(config)
	checkFault(t, err, "fields[0].references.set")
	for path, reference := range map[string]Reference{
		"references[0].name": {File: "a.csv", Column: "c"}, "references[0].file": {Name: "a", File: "a.txt", Column: "c"},
		"references[0].column": {Name: "a", File: "a.ndjson"}, "references[0]": {Name: "a", Column: "c"}, "references[0].topic": {Name: "a", File: "a.csv", Column: "c", Topic: "a"},
	} {
		checkFault(t, Check(Config{References: []Reference{reference}}), path)
	}
	twice := Reference{Name: "a", File: "a.csv", Column: "c"}
	checkFault(t, Check(Config{References: []Reference{twice, twice}}), "references[1].name")
}

// checkFault checks that a config has one fault, at a path.
func checkFault(t *testing.T, err error, path string) {
	t.Helper()
	faults, ok := err.(*ConfigError)
	must.That(t, ok, "got %v, want a fault at %s", err, path)
	expect.That(t, len(faults.Faults) == 1 && faults.Faults[0].Path == path && faults.Faults[0].Fix != "", "got %v, want one at %s", err, path)
}

// A time counted from 1970 is exactly the time of its digits.
func TestUnixTimes_S0_10_exact(t *testing.T) {
	for format, cases := range map[string]map[string]string{
		"unix": {
			"1700000000.123": "2023-11-14T22:13:20.123Z", `"1700000000.999999"`: "2023-11-14T22:13:20.999999Z", "1700000000.1234567891": "2023-11-14T22:13:20.123456789Z",
			"-0.5": "1969-12-31T23:59:59.5Z", "1.7e9": "2023-11-14T22:13:20Z", "1700000000": "2023-11-14T22:13:20Z", "0.000": "1970-01-01T00:00:00Z", "1e-300": "1970-01-01T00:00:00Z",
			"1e13": "", "253402300800": "", `"1e-999999999"`: "", `"soon"`: "",
		},
		"unix_ms": {
			"1700000000123.4": "2023-11-14T22:13:20.1234Z", "1700000000123": "2023-11-14T22:13:20.123Z", "-1": "1969-12-31T23:59:59.999Z", "1.700000000123e12": "2023-11-14T22:13:20.123Z",
			"1e18": "",
		},
	} {
		tr := mustNew(t, Config{Fields: []Field{{From: "t", To: "at", Type: TypeDateTime, Formats: []string{format}}}})
		for value, want := range cases {
			f, err := tr.Apply(t.Context(), []byte(withProperties(`{"t":`+value+`}`)))
			if want == "" {
				expect.Equal(t, asError(t, err).Code, classify.CodeCoercionFailed, "code")
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", format, value, err)
				continue
			}
			at, _ := f.Property("at")
			expect.That(t, at.Text() == want, "%s %s is %s, want %s", format, value, at.Text(), want)
		}
	}
}

// mustNew returns a Transformer for a config without a fault.
func mustNew(tb testing.TB, config Config) *Transformer {
	tb.Helper()
	return must.Get(New(config))(tb)
}

// mustDecode decodes a record without a fault.
func mustDecode(tb testing.TB, t *Transformer, record string) *Feature {
	tb.Helper()
	return must.Get(t.Decode([]byte(record)))(tb)
}

// mustEncode encodes a feature without a fault.
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

// gateError returns the error of the gates for a feature.
func gateError(tb testing.TB, t *Transformer, f *Feature) error {
	tb.Helper()
	_, err := t.Gate(tb.Context(), f)
	return err
}

// polygonFeature returns a feature of about 1 KB: 33 positions and 8 properties.
func polygonFeature() []byte {
	var ring []string
	for i := range 33 {
		angle := 2 * math.Pi * float64(i%32) / 32
		ring = append(ring, fmt.Sprintf("[%.7f,%.7f]", 9.5+0.01*math.Cos(angle), 47.1+0.01*math.Sin(angle)))
	}
	return []byte(`{"type":"Feature","id":"parcel-000017","geometry":{"type":"Polygon","coordinates":[[` + strings.Join(ring, ",") +
		`]]},"properties":{"PARZ_ID":"000017","owner":{"name":"Municipality of Vaduz"},"AREA":"1234.5","floors":"3","zone":"W2","updated":"2026-11-21T10:00:00Z","protected":"false","value":1250000}}`)
}
