package jsontexts_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/jsontexts"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// read returns the texts of an input, each with its line.
func read(t testing.TB, in string, limit int) []string {
	t.Helper()
	var out []string
	r := jsontexts.New(strings.NewReader(in), limit)
	for {
		text, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return append(out, "error: "+err.Error())
		}
		if text.TooLong > 0 {
			out = append(out, fmt.Sprintf("%d: %d bytes", text.Line, text.TooLong))
			continue
		}
		out = append(out, fmt.Sprintf("%d: %s", text.Line, strings.Join(strings.Fields(string(text.Bytes)), "")))
	}
}

func TestReader_S0_2_forms(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte("{}\n[1]\n"))
	_ = w.Close()
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"lines":                      {"{}\n\n  \r\n{\"a\":1}\r\n", []string{"1: {}", `4: {"a":1}`}},
		"one after another":          {"{}{\"a\":{}} {}\n{}", []string{"1: {}", `1: {"a":{}}`, "1: {}", "2: {}"}},
		"over several lines":         {"{\n \"a\": [\n  {}\n ]\n}\n{\n}\n", []string{`1: {"a":[{}]}`, "6: {}"}},
		"features not indented":      {"{\n\"features\": [\n{ \"a\": 1 },\n{ \"a\": 2 }\n]\n}\n", []string{`1: {"features":[{"a":1},{"a":2}]}`}},
		"an end and a beginning":     {"{\n}{\n}\n", []string{"1: {}", "2: {}"}},
		"a sequence":                 {"\x1e{}\n\x1e{\n\"a\":1}\n", []string{"1: {}", `2: {"a":1}`}},
		"a sequence on one line":     {"\x1e{}\x1e{}", []string{"1: {}", "1: {}"}},
		"a broken one in a sequence": {"\x1e{\"a\":\n\x1e{}\n", []string{`1: {"a":`, "2: {}"}},
		"byte order mark":            {"\xef\xbb\xbf{}", []string{"1: {}"}},
		"gzip":                       {packed.String(), []string{"1: {}", "2: [1]"}},
		"gzip twice":                 {packed.String() + packed.String(), []string{"1: {}", "2: [1]", "3: {}", "4: [1]"}},
		"braces in strings":          {`{"a":"}\"{"}` + "\n{}", []string{`1: {"a":"}\"{"}`, "2: {}"}},
		"no JSON":                    {"id,name\n1,x\n{}", []string{"1: id,name", "2: 1,x", "3: {}"}},
		"something behind":           {"{},\n{}\n", []string{"1: {},", "2: {}"}},
		"nothing":                    {"\n\n", nil},
		"zstd":                       {"\x28\xb5\x2f\xfd", []string{"error: no GeoJSON: it is compressed with zstd; decompress it first: zstd -dc FILE"}},
		"broken in a string":         {"{\"a\":\"x\n{}\n", []string{`1: {"a":"x`, "2: {}"}},
		"broken behind a member":     {"{\"a\":1\n{}\n{}", []string{`1: {"a":1`, "2: {}", "3: {}"}},
		"broken behind a comma":      {"{\"a\":1,\n{}\n{}", []string{`1: {"a":1,`, "2: {}", "3: {}"}},
		"broken behind a colon":      {"{\"a\":\n{}\n{}\n", []string{`1: {"a":`, "2: {}", "3: {}"}},
		"broken behind a bracket":    {"{\"a\":[\n{}\n{}\n{\"b\":1}", []string{`1: {"a":[`, "2: {}", "3: {}", `4: {"b":1}`}},
		"broken over several lines":  {"{\n \"a\":\"x\n \"b\":2\n}\n{}\n", []string{`1: {"a":"x`, "5: {}"}},
		"a bracket for a brace":      {"{\"a\":[1}\n{}\n", []string{`1: {"a":[1}`, "2: {}"}},
		"it ends too early":          {"{\n \"a\":1", []string{`1: {"a":1`}},
		"too long":                   {"{\"a\":\"" + strings.Repeat("x", 100) + "\"}\n{}", []string{"1: 109 bytes", "2: {}"}},
		"too long over lines":        {"{\n" + strings.Repeat(" \"a\":1,\n", 20) + " \"b\":2\n}\n{}", []string{"1: 169 bytes", "24: {}"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, c.in, 60)
			expect.That(t, slices.Equal(got, c.want), "got  %q\nwant %q", got, c.want)
		})
	}
}

// FuzzReader_S0_2: no input causes a panic, and every returned text is part of the input.
func FuzzReader_S0_2(f *testing.F) {
	for _, seed := range []string{"{}\n{}", "\x1e{\"a\":[1}\n{", "]}\n", "{\n\"a", "[[\n]{"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := jsontexts.New(strings.NewReader(in), 20)
		for total := 0; ; {
			text, err := r.Next()
			if err != nil {
				return
			}
			if total += len(text.Bytes); len(text.Bytes) > 20 || total > len(in)+r.Line() {
				t.Fatalf("%q: %q", in, text.Bytes)
			}
		}
	})
}
