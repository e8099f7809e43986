package sink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S0-6: bytes come as base64, from Avro and from Debezium, and are the bytes that they stand for.
func TestSink_S0_6_bytesAndWholeNumbers(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("create domain bin as bytea; create domain num as int; create type scan as (name text, raw bytea, n int, ns int8[]); alter table parcels add raw bytea, add raws bytea[], add dom bin, add i2 int2, add i4 int4, add i8 int8, add n num, add i4s int4[], add f float8, add dec numeric, add word text, add c scan, add cs scan[]")
	for i, c := range []struct{ column, value, want string }{
		{"raw", `"AQID"`, `\x010203`},
		{"raw", `"AQI="`, `\x0102`},
		{"raw", `"AQI"`, `\x0102`},
		{"raw", `"_-8="`, `\xffef`},
		{"raw", `"/+8="`, `\xffef`},
		{"raw", `"AQ\r\nID\n"`, `\x010203`},
		{"raw", `""`, `\x`},
		{"raw", `"\\x0102ff"`, `\x0102ff`},
		{"raw", `"\\x0102f"`, ""},
		{"raw", `"Grüße"`, ""},
		{"raw", `"a"`, ""},
		{"raw", `12`, ""},
		{"raw", `["AQID"]`, ""},
		{"raw", `{"a": 1}`, ""},
		{"raw", `null`, "null"},
		{"dom", `"AQID"`, `\x010203`},
		{"raws", `["AQID", null, "\\xff"]`, `{"\\x010203",NULL,"\\xff"}`},
		{"raws", `["Grüße"]`, ""},
		{"word", `"AQID"`, "AQID"},
		{"i2", `12.0`, "12"},
		{"i4", `12.0`, "12"},
		{"i4", `-12.000`, "-12"},
		{"i4", `0.0`, "0"},
		{"i4", `-0.0`, "0"},
		{"i4", `1.2e1`, "12"},
		{"i4", `12.5`, ""},
		{"i4", `3000000000.0`, ""},
		{"i8", `9007199254740993.0`, "9007199254740993"},
		{"i8", `9223372036854775808.0`, ""},
		{"n", `12.0`, "12"},
		{"i4s", `[1.0, 2, [3e0, 4.00]]`, ""}, // PostgreSQL has no such array
		{"i4s", `[[1.0, 2], [3e0, 4.00]]`, "{{1,2},{3,4}}"},
		{"i4s", `[1.5]`, ""},
		{"f", `12.0`, "12"},
		{"dec", `12.0`, "12.0"},
		{"word", `12.0`, "12.0"},
		{"c", `{"name": "AQID", "raw": "AQID", "n": 12.0, "ns": [1.0, 2e0]}`, `(AQID,"\\x010203",12,"{1,2}")`},
		{"c", `{"name": "Grüße", "raw": "Grüße"}`, ""},
		{"c", `{"name": "Grüße"}`, "(Grüße,,,)"},
		{"c", `"(a,AQID,1,)"`, ""},
		{"c", `{"n": 12.5}`, ""},
		{"cs", `[{"raw": "_-8="}, null]`, `{"(,\"\\\\xffef\",,)",NULL}`},
	} {
		row := b.row(fmt.Sprint(i), 0, 1, fmt.Sprintf(`{%q: %s}`, c.column, c.value), point)
		err := b.write(row)
		if (c.want == "") != (err != nil) || err != nil && classify.Of(err).Code != classify.CodeDBData {
			t.Errorf("%s %s: %v", c.column, c.value, err)
		}
		if err != nil || c.want == "" {
			continue
		}
		if got := b.ask(fmt.Sprintf("select %s from parcels where id = '%d'", c.column, i)); got != c.want {
			t.Errorf("%s %s: the table has %s, want %s", c.column, c.value, got, c.want)
		}
		if f := b.audited(row)[0]; !f.There || f.Differs {
			t.Errorf("%s %s: %+v", c.column, c.value, f)
		}
	}
}

// S0-6: which text bytes have is said, not guessed: a text that is base64 and hexadecimal digits is refused until the file says which.
func TestSink_S0_6_binaryHandlingMode(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	for mode, cases := range map[string]map[string]string{
		"":                          {`"deadbeef"`: "", `"0102"`: "", `"0102ff"`: "", `"DEADBEEF"`: `\x0c4003044105`, `"AAAA"`: `\x000000`, `"_-8="`: `\xffef`, `"\\xdeadbeef"`: `\xdeadbeef`, `""`: `\x`},
		", binary: bytes":           {`"deadbeef"`: "", `"3q2+7w=="`: `\xdeadbeef`},
		", binary: base64":          {`"deadbeef"`: `\x75e69d6de79f`, `"0102"`: `\xd35d36`, `"3q2+7w=="`: `\xdeadbeef`, `"3q2-7w=="`: "", `"\\xdeadbeef"`: `\xdeadbeef`},
		", binary: base64_url_safe": {`"deadbeef"`: `\x75e69d6de79f`, `"3q2-7w=="`: `\xdeadbeef`, `"3q2-7w"`: `\xdeadbeef`, `"3q2+7w=="`: ""},
		", binary: hex":             {`"deadbeef"`: `\xdeadbeef`, `"DEADBEEF"`: `\xdeadbeef`, `"0102"`: `\x0102`, `"3q2+7w=="`: "", `"abc"`: "", `"\\xdeadbeef"`: `\xdeadbeef`, `""`: `\x`},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := open(t, server, mode)
			b.exec("alter table parcels add raw bytea")
			n := 0
			for value, want := range cases {
				n++
				row := b.row(fmt.Sprint(n), 0, 1, fmt.Sprintf(`{"raw": %s}`, value), point)
				err := b.write(row)
				if (want == "") != (err != nil) || err != nil && (classify.Of(err).Code != classify.CodeDBData || !strings.Contains(err.Error(), "sink.postgis.binary")) {
					t.Errorf("%s: %v", value, err)
				}
				if err != nil || want == "" {
					continue
				}
				if got := b.ask(fmt.Sprintf("select raw from parcels where id = '%d'", n)); got != want {
					t.Errorf("%s: the table has %s, want %s", value, got, want)
				}
				if f := b.audited(row)[0]; !f.There || f.Differs {
					t.Errorf("%s: %+v", value, f)
				}
			}
		})
	}
}
