package sample_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/sample"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// point returns a feature with these properties.
func point(id, properties string) string {
	return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":%s,"geometry":{"type":"Point","coordinates":[9.512345,47.1]}}`, id, properties)
}

// pipelineOf reads a sample and returns the pipeline file, which must be valid, and its text.
func pipelineOf(t testing.TB, text string) (*config.Config, string) {
	t.Helper()
	s := must.Get(sample.Read(t.Context(), strings.NewReader(text)))(t)
	file := s.PipelineFile(sample.Names{ID: "parcels", Topic: "parcels", From: "a\nb: c.ndjson", Brokers: []string{"127.0.0.1:9092"}})
	cfg, err := config.Parse("pipeline.yaml", file, nil)
	must.That(t, err == nil, "%v\n%s", err, file)
	return cfg, string(file)
}

// S0-2: for any names and values in a sample, the pipeline file is valid, has every mandatory key, and maps every
// feature of the sample.
func TestWrite_S0_2_mapsTheWholeSample(t *testing.T) {
	for name, features := range map[string][]string{
		"plain":            {point("a", `{"n":1,"s":"x","b":true,"f":1.5}`), point("b", `{"n":2,"s":"y","b":false,"f":2}`)},
		"missing and null": {point("a", `{"n":1}`), point("b", `{"n":null,"m":"x"}`), point("c", `{}`), point("d", `null`)},
		"mixed kinds":      {point("a", `{"v":1}`), point("b", `{"v":"x"}`), point("c", `{"v":true}`), point("d", `{"w":[1]}`), point("e", `{"w":{"x":1}}`), point("f", `{"w":2}`)},
		"nested":           {point("a", `{"o":{"p":{"q":{"r":{"s":1}}},"n":null}}`), point("b", `{"o":{"p":{"q":{}}}}`), point("c", `{"o":null}`)},
		"nested or not":    {point("a", `{"o":{"p":1}}`), point("b", `{"o":"none"}`)},
		"empty objects":    {point("a", `{"o":{},"l":[]}`), point("b", `{"o":{},"l":[]}`)},
		"names of YAML":    {point("a", `{"yes":1,"null":2,"~":3,"- x":4,"#c":5,"a: b":6,"'":7,"\"":8,"{}":9,"0x1":10,"*a":11,"%":12,"a\nb: c":13,"\u0001":14,"\u2028":15,"é😀":16,"\\":17,"":18," ":19}`)},
		"dots":             {point("a", `{"a.b":1,"a":{"b":2},"a_b":3,".":4,"..":5}`)},
		"large numbers":    {point("a", `{"i":9223372036854775807,"j":123456789012345678901234567890,"k":1e300,"l":-0,"m":0.1}`), point("b", `{"i":-9223372036854775808,"j":1,"k":2,"l":1E2,"m":1e-7}`)},
		"times":            {point("a", `{"d":"2026-01-02","t":"2026-01-02T03:04:05Z","u":"2026-02-30","v":"2026-01-02"}`), point("b", `{"d":"2026-12-31","t":"2026-01-02T03:04:05.123+02:00","u":"2026-01-01","v":"today"}`)},
		"empty texts":      {point("a", `{"d":"2026-01-02","s":""}`), point("b", `{"d":"","s":""}`)},
		"no id":            {`{"type":"Feature","properties":{"k":1},"geometry":null}`, `{"type":"Feature","properties":{"k":2},"geometry":null}`},
		"no id at all":     {`{"type":"Feature","properties":{"k":1},"geometry":null}`, `{"type":"Feature","properties":{"k":1},"geometry":null}`},
		"one":              {point("a", `{}`)},
		"geometries":       {point("a", `{}`), `{"type":"Feature","id":"b","properties":{},"geometry":{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[1,1]]}]}}`},
		"members besides":  {`{"type":"Feature","id":1,"properties":{"a":1},"geometry":null,"bbox":[0,0,1,1],"extra":{"x":[1]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, text := pipelineOf(t, strings.Join(features, "\n"))
			for _, key := range []string{"max_attempts:", "base_delay_seconds:", "retryable_status_codes:", "max_null_rate:", "halt_on_geometry_invalid:"} {
				expect.That(t, strings.Count(text, key) == 1, "%s %d times", key, strings.Count(text, key))
			}
			mapping := must.Get(pipeline.NewMapping(cfg))(t)
			for _, feature := range features {
				err := mapping.TryValue(t.Context(), []byte(feature))
				expect.That(t, err == nil, "%s: %v\n%s", feature, err, text)
			}
		})
	}
}

// For dates and times in other formats than RFC 3339, the file has a question with a rule that parses them. A property
// whose format varies is not a time.
func TestWrite_asksForTimes(t *testing.T) {
	question := regexp.MustCompile(`\{from: "v", to: "v", type: \w+, required: true\} # \? [^?]*\? (type: \w+, formats: \[[^\]]*\](, time_zone: [^;]+)?)`)
	for _, values := range [][2]string{
		{`"2024-01-02 10:00:00"`, `"2025-01-02 10:00:00"`}, {`"2024-01-02 10:00"`, `"2025-01-02 10:00"`}, {`"2024-01-02T10:00:00"`, `"2025-01-02T10:00:00"`},
		{`"02.01.2024"`, `"31.12.2024"`}, {`"02/01/2024"`, `"31/12/2024"`}, {`1700000000`, `1700000001`}, {`1700000000000`, `1700000000001`},
	} {
		_, text := pipelineOf(t, point("a", `{"v":`+values[0]+`}`)+point("b", `{"v":`+values[1]+`}`))
		found := question.FindStringSubmatch(text)
		if found == nil {
			t.Errorf("%s is not asked for:\n%s", values[0], text)
			continue
		}
		text = question.ReplaceAllString(text, `{from: "v", to: "v", required: true, `+found[1]+`} #`)
		cfg, err := config.Parse("pipeline.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", values[0], err)
			continue
		}
		mapping := must.Get(pipeline.NewMapping(cfg))(t)
		for _, v := range values {
			expect.Do(t, mapping.TryValue(t.Context(), []byte(point("a", `{"v":`+v+`}`))), v, "by", found[1])
		}
	}
	for _, values := range [][2]string{{`"02.01.2024"`, `"soon"`}, {`1700000000`, `1700000000000`}, {`17`, `18`}, {`"2024-01-02T10:00:00Z"`, `"2025-01-02T10:00:00Z"`}, {`"1700000000"`, `"1700000001"`}} {
		_, text := pipelineOf(t, point("a", `{"v":`+values[0]+`}`)+point("b", `{"v":`+values[1]+`}`))
		expect.That(t, !question.MatchString(text), "%s and %s are taken for times:\n%s", values[0], values[1], text)
	}
}

// S0-2: the type is that of most values, and a comment names the exceptions.
func TestWrite_S0_2_judgesByTheMajority(t *testing.T) {
	many := func(usual, other string) string {
		var out strings.Builder
		for i := range 9 {
			value := usual
			if i == 4 {
				value = other
			}
			out.WriteString(point(strconv.Itoa(i), `{"v":`+value+`}`) + "\n")
		}
		return out.String()
	}
	metres := strings.Replace(many("1", "1"), "[9.512345,47.1]", "[3457000.1,5400000]", 1)
	for text, wants := range map[string][]string{
		many(`1`, `"vier"`):                    {`type: integer, required: true} # ? 1 of 9 are not of this type, such as "vier"; 9 of 9`},
		many(`1.5`, `true`):                    {`type: number, required: true} # ? 1 of 9 are not of this type, such as true; 9 of 9`},
		many(`true`, `"yes"`):                  {`type: boolean, required: true} # ? 1 of 9 are not`},
		many(`"2026-01-02"`, `"unknown"`):      {`type: date, required: true} # ? 1 of 9 are not of this type, such as "unknown"`},
		many(`"2026-01-02T03:04:05Z"`, `null`): {`type: datetime} # 8 of 9`},
		many(`"02.01.2024"`, `"unbekannt"`):    {`# ? a day? type: date, formats: ["%d.%m.%Y"]; 1 of 9 do not fit, such as "unbekannt"; 9 of 9`},
		many(`"16,5"`, `"unbekannt"`):          {`# ? a number? type: number, decimal: ","; 1 of 9 do not fit, such as "unbekannt"; 9 of 9`},
		many(`"1'234.5"`, `"1'234"`):           {`# ? a number? type: number, thousands: "'"; 9 of 9`},
		many(`"x"`, `4`):                       {`type: string, required: true} # ? of several kinds: text 8, whole number 1`},
		many(`[1]`, `"x\u001b[2J\ny"`):         {`type: array, required: true} # ? 1 of 9 are not of this type, such as `},
		metres:                                 {"# ? longitude and latitude: x from 9.512345 to 9.512345, y from 47.1 to 47.1; but of 1 feature: x from 3457000.1"},
		many(`1`, `1`) + "{\n":                 {"# ? It skipped 1 of 10 texts of the sample, which are no features. The first, line 10: "},
	} {
		_, file := pipelineOf(t, text)
		for _, want := range wants {
			expect.That(t, strings.Contains(file, want), "%q is missing in:\n%s", want, file)
		}
	}
}

// S0-2: the number format of a property is derived from all its values, because one value alone may be ambiguous.
func TestWrite_S0_2_numbersAsPeopleWriteThem(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"groups and decimals":         {`"1'234,5" "987,0" "12'000,25" "45"`, `# ? a number? type: number, thousands: "'", decimal: ","; 4 of 4`},
		"a group shows the comma":     {`"1.234,56" "987,123" "17"`, `# ? a number? type: number, thousands: ".", decimal: ","; 3 of 3`},
		"a point shows the groups":    {`"1,234.5" "1,234" "12.5"`, `# ? a number? type: number, thousands: ","; 3 of 3`},
		"many groups":                 {`"1,234,567" "1,234" "12"`, `# ? a number? type: number, thousands: ","; 3 of 3`},
		"spaces":                      {"\"1\u00a0234,5\" \"1 234\" \"-7,25\"", `# ? a number? type: number, thousands: " ", decimal: ","; 3 of 3`},
		"mixed with JSON numbers":     {`"1'234" 17 "2'000" 5.5`, `# ? a number? type: number, thousands: "'"; 4 of 4`},
		"a unit":                      {`"1'234 m2" "987 m2" "-12'000 m2"`, `# ? a number? type: number, thousands: "'", extract: "^(-?[0-9']+) m2$"; 3 of 3`},
		"a unit and decimals":         {`"1.234,5km/h" "7,25km/h"`, `# ? a number? type: number, thousands: ".", decimal: ",", extract: "^(-?[0-9.,]+)km/h$"; 2 of 2`},
		"one value has another unit":  {`"5 ha" "7 ha" "8 ha" "1 ha" "2 ha" "3 ha" "4 ha" "6 ha" "9 ha" "9 m2"`, `# ? a number? type: number, extract: "^(-?[0-9]+) ha$"; 1 of 10 do not fit, such as "9 m2"; 10 of 10`},
		"a unit where it is written":  {`"1'234,5 m²" "987,0" "12'987,0" "87,25 m²"`, `# ? a number? type: number, thousands: "'", decimal: ",", extract: "^(-?[0-9',]+)(?: m²)?$"; 4 of 4`},
		"two units and none":          {`"1 ha" "2 m2" "3"`, `# 3 of 3`},
		"house numbers with a space":  {`"12 a" "14" "16 a"`, `# 3 of 3`},
		"house numbers of one house":  {`"12a" "14" "15a"`, `# 3 of 3`},
		"house numbers":               {`"12a" "3b" "14"`, `# 3 of 3`},
		"one value is not a number":   {`"16,5" "7,25" "3" "hoch"`, `# ? a number? type: number, decimal: ","; 1 of 4 do not fit, such as "hoch"; 4 of 4`},
		"one value in another format": {`"16,5" "7,25" "3,5" "4.5"`, `# ? a number? type: number, decimal: ","; 1 of 4 do not fit, such as "4.5"; 4 of 4`},
		"plain decimals":              {`"16.5" "7.25" "3"`, `type: string, required: true} # 3 of 3`},
		"digits alone":                {`"8001" "8002" "3011"`, `type: string, required: true} # 3 of 3`},
		"days, addresses, phones":     {`"2.1.2024" "10.0.0.1" "079 123 45 67"`, `type: string, required: true} # 3 of 3`},
	} {
		t.Run(name, func(t *testing.T) {
			var lines strings.Builder
			for i, v := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(c.values, -1) {
				lines.WriteString(point(strconv.Itoa(i), `{"v":`+v+`}`) + "\n")
			}
			_, text := pipelineOf(t, lines.String())
			expect.That(t, strings.Contains(text, c.want), "%q is missing in:\n%s", c.want, text)
		})
	}
}

// A sample is read in all three forms, within its limits. Any other input is an error that says so.
func TestRead_formsAndBounds(t *testing.T) {
	one := point("a", `{"k":1}`)
	for name, c := range map[string]struct {
		text     string
		features int
	}{
		"lines":                  {one + "\n" + one + "\n", 2},
		"one after another":      {one + one + " " + one, 3},
		"a collection":           {`{"type":"FeatureCollection","features":[` + one + "," + one + `]}`, 2},
		"more than is looked at": {strings.Repeat(one+"\n", sample.MaxFeatures+10), sample.MaxFeatures},
		"a large collection":     {`{"features":[` + strings.Repeat(one+",", sample.MaxFeatures+10) + one + `],"type":"FeatureCollection"}`, sample.MaxFeatures},
	} {
		s, err := sample.Read(t.Context(), strings.NewReader(c.text))
		expect.That(t, err == nil && s.Features == c.features, "%v: %+v, %v, want %d features", name, s, err, c.features)
	}
	if s, err := sample.Read(t.Context(), strings.NewReader("\xef\xbb\xbf"+one)); err != nil || s.Features != 1 {
		t.Errorf("with a byte order mark: %+v, %v", s, err)
	}
	for text, want := range map[string]string{
		one + "\n\n" + one + "\nnot a feature\n" + one:                                                            "3 features, 1 skipped, line 4: ",
		`{"type":"FeatureCollection","features":[` + "\n" + one + ",\n" + `{"type":"Point"},` + "\n" + one + "]}": "2 features, 1 skipped, line 3: ",
		one + "\n{\"type\":\"Feature\",\n\"id\":,}":                                                               "1 features, 1 skipped, line 3: ",
		one + "\n" + `{"type":"Point"}` + "\n" + one:                                                              "2 features, 1 skipped, line 2: ",
		one + "\n" + one[:50] + "\n" + one[:30] + "\n" + one + "x\n" + one:                                        "2 features, 3 skipped, line 2: ",
		`{"features":[` + one + ",":                                                                               "1 features, 1 skipped, line 1: ",
		"\x1e" + one + "\n\x1e{\n\x1e" + one:                                                                      "2 features, 1 skipped, line 2: ",
	} {
		s, err := sample.Read(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		got := fmt.Sprintf("%d features, %d skipped, %v", s.Features, s.Skipped, s.FirstSkipped)
		expect.That(t, strings.HasPrefix(got, want), "%q: %s, want %s", text, got, want)
	}
	for text, want := range map[string]string{
		"\x28\xb5\x2f\xfd": "zstd",
		"PK\x03\x04":       "ZIP",
		"\xff\xfe{\x00":    "UTF-16",
	} {
		_, err := sample.Read(t.Context(), strings.NewReader(text))
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%.40q: %v, want %q", text, err, want)
	}
	for name, text := range map[string]string{
		"nothing": "", "an empty collection": `{"type":"FeatureCollection","features":[]}`, "no JSON": "id,name\n1,x\n", "a list": "[1]", "a geometry": `{"type":"Point","coordinates":[1,2]}`,
		"half a feature": one[:40], "deep": `{"type":"Feature","properties":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + `}`,
	} {
		s, err := sample.Read(t.Context(), strings.NewReader(text))
		expect.That(t, err != nil, "%s: %+v and no error", name, s)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sample.Read(ended, strings.NewReader(one))
	expect.That(t, errors.Is(err, context.Canceled), "after the end of its context: %v", err)
}

// Property names beyond the limit are reported, and need no memory.
func TestRead_boundsTheNames(t *testing.T) {
	var all strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&all, `,"k%d":1`, i)
	}
	_, text := pipelineOf(t, point("a", "{"+all.String()[1:]+"}"))
	n := strings.Count(text, "from:")
	expect.That(t, n == 500 && strings.Contains(text, "# ? there are more than 500 properties"), "%d fields", n)
}

// FuzzWrite_S0_2: every sample that can be read results in a valid pipeline file.
func FuzzWrite_S0_2(f *testing.F) {
	f.Add(point("a", `{"a\nb: c":"x","o":{"p":[1,{"q":null}]}}`))
	f.Add(`{"type":"FeatureCollection","features":[` + point("a", `{"":1}`) + `],"crs":{"properties":{"name":"EPSG:1"}}}`)
	f.Add(point("\u0000", `{"\u007f\u0085\ufeff\ud800":1e999}`))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := sample.Read(t.Context(), strings.NewReader(text)); err == nil {
			pipelineOf(t, text)
		}
	})
}

// The file has what the sample shows, and questions about everything else.
func TestWrite_saysWhatTheSampleShows(t *testing.T) {
	collection := `{"type":"FeatureCollection","features":[` + point("a", `{"k":1}`) + "," + point("b", `{"k":1}`) + `]}`
	swiss := strings.ReplaceAll(point("a", `{"k":"x"}`), "[9.512345,47.1]", "[2600000.123,1200000.5]")
	for name, c := range map[string]struct {
		text  string
		wants []string
	}{
		"required":       {point("a", `{"n":1,"m":2}`) + point("b", `{"n":2}`), []string{`{from: "n", to: "n", type: integer, required: true} # 2 of 2`, `{from: "m", to: "m", type: integer} # 1 of 2`, `max_null_rate: 0.56 `, `m lacked a value in 50.0 %`}},
		"id":             {point("a", `{}`) + point("b", `{}`), []string{"The id of a feature is its member id"}},
		"id by property": {point("a", `{"k":1}`) + point("a", `{"k":2}`), []string{`id: {from: "properties.k"}   # ?`}},
		"no identity":    {point("a", `{"k":1}`) + point("a", `{"k":1}`), []string{"# ? id: 2 of 2 have a member id, 1 of them different"}},
		"version":        {point("a", `{"updated":"2026-01-02T03:04:05Z"}`), []string{`# version: "properties.updated"   # ?`}},
		"degrees":        {point("a", `{}`), []string{"source_crs: EPSG:4326 ", "longitude and latitude", "precision_decimal_threshold: "}},
		"no degrees":     {swiss, []string{"? these are no degrees", "EPSG:2056"}},
		"declared":       {`{"type":"FeatureCollection","features":[` + swiss + `],"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::2056"}}}`, []string{"source_crs: EPSG:2056", "declared_crs: use"}},
		"a collection":   {collection, []string{"split: features ", "unmapped: drop"}},
		"no ids in it":   {strings.ReplaceAll(collection, `"id":"b"`, `"id":"a"`), []string{"# split: features "}},
		"taken names":    {point("a", `{"a":{"b":1},"a_b":2,"a.b.c":{"d":1}}`), []string{`{from: "a_b", to: "a_b",`, `{from: "a.b", to: "a_b_2",`}},
		"no name":        {point("a", `{"":1}`), []string{"unmapped: keep"}},
		"types":          {point("a", `{}`), []string{"types: [Point]"}},
		"all required":   {point("a", `{"n":1}`), []string{"max_null_rate: 1 ", "optional fields, and there is none"}},
		"nested":         {point("a", `{"owner":{"name":"x"}}`), []string{`{from: "owner.name", to: "owner_name", type: string}`}},
		"flag property":  {point("a", `{"switchback_geometry_invalid":true,"switchback_geometry_invalid_2":1}`), []string{`flag_property: "switchback_geometry_invalid_3"`}},
		"mixed":          {point("a", `{"v":1}`) + point("b", `{"v":"x"}`), []string{"? of several kinds: text 1, whole number 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, text := pipelineOf(t, c.text)
			for _, want := range c.wants {
				expect.That(t, strings.Contains(text, want), "%q is missing in:\n%s", want, text)
			}
		})
	}
}
