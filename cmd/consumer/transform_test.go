package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// filtered runs `consumer transform` with an input.
func filtered(t *testing.T, in string, args ...string) (code cli.Exit, stdout, stderr string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in.ndjson")
	must.Do(t, os.WriteFile(name, []byte(in), 0o600))
	input := must.Get(os.Open(name))(t)
	defer input.Close()
	before := os.Stdin
	os.Stdin = input
	defer func() { os.Stdin = before }()
	var out, errs bytes.Buffer
	code = run(append([]string{"transform"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

const (
	mapping = pipelineFile + "transform: { unmapped: drop, fields: [{ from: NAME, to: name, type: string, required: true }] }\n"
	named   = `{"type":"Feature","id":1,"geometry":null,"properties":{"NAME":"a","X":1}}` + "\n"
	unnamed = `{"type":"Feature","id":2,"geometry":null,"properties":{"X":1}}` + "\n"
)

// TestTransform: exit codes, and what goes where.
func TestTransform(t *testing.T) {
	name := file(t, mapping)
	const want = `{"type":"Feature","id":1,"geometry":null,"properties":{"name":"a"}}` + "\n"
	code, stdout, stderr := filtered(t, named, "-c", name)
	expect.That(t, code == 0 && stdout == want && stderr == "", "all pass: exit %d, %q, %q", code, stdout, stderr)
	code, stdout, stderr = filtered(t, named+unnamed, "-c", name)
	expect.That(t, code == 4 && stdout == want && strings.HasPrefix(stderr, `{"line":2,"code":"missing_required",`) && strings.Count(stderr, "\n") == 1,
		"one is refused: exit %d, %q, %q", code, stdout, stderr)
	rejects := filepath.Join(t.TempDir(), "bad.ndjson")
	code, stdout, stderr = filtered(t, named+unnamed, "-c", name, "--rejects", rejects, "--meta")
	text, err := os.ReadFile(rejects)
	expect.That(t, err == nil && code == 4 && strings.HasPrefix(string(text), `{"line":2,`) && strings.Contains(stderr, "1 of 2 lines rejected; see "+rejects),
		"rejections in a file: exit %d, %q, %q, %v", code, text, stderr, err)
	expect.That(t, strings.Contains(stdout, `"switchback":{"feature_id":"1","content_hash":"sha256:`), "--meta: %q", stdout)
	code, _, stderr = filtered(t, named, "-c", name, "--rejects", filepath.Join(t.TempDir(), "no", "folder"))
	expect.That(t, code == 2 && strings.Contains(stderr, "--rejects"), "a file that cannot be made: exit %d, %q", code, stderr)
	code, _, stderr = filtered(t, named, "-c", file(t, pipelineFile+"transform: { unmapped: perhaps }\n"))
	expect.That(t, code == 2 && strings.Contains(stderr, "transform.unmapped"), "a mapping with a fault: exit %d, %q", code, stderr)
}

// TestTransform_enrich: remote steps are asked only when the command line says so.
func TestTransform_enrich(t *testing.T) {
	name := file(t, mapping+"enrich: [{ name: place, http: { url: \"http://127.0.0.1:1/{id}\", allow_private: true }, set: { place: /name } }]\n")
	code, stdout, stderr := filtered(t, named, "-c", name)
	expect.That(t, code == 0 && stdout != "", "without: exit %d, %q, %q", code, stdout, stderr)
	code, stdout, stderr = filtered(t, named, "-c", name, "--enrich")
	expect.That(t, code == 4 && stdout == "" && strings.Contains(stderr, `"code":"connection_refused"`), "with: exit %d, %q, %q", code, stdout, stderr)
}

// TestTransform_formats: lines are what source.format says, as far as that is text; what comes out is GeoJSON.
func TestTransform_formats(t *testing.T) {
	const (
		want     = `{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"a"}}` + "\n"
		plain    = `{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"NAME":"a"}}`
		fg       = `{"type":"Feature","id":1,"geometry":null,"place":{"type":"Point","coordinates":[47.25,8.5]},"coordRefSys":"[EPSG:4326]","properties":{"NAME":"a"}}`
		event    = `{"specversion":"1.0","id":"e","source":"/s","type":"t","data":` + plain + `}`
		change   = `{"op":"c","after":{"id":1,"NAME":"a","geometry":{"srid":4326,"wkb":"AQEAAAAAAAAAAAAhQAAAAAAAoEdA"}}}`
		deleted  = `{"op":"d","before":{"id":1}}`
		registry = "schema_registry: { url: \"http://127.0.0.1:1\" }\n"
	)
	for _, c := range []struct {
		source, in string
		code       cli.Exit
		out, err   string
	}{
		{"{ format: geojson }", plain, 0, want, ""},
		{"{ format: auto }", plain, 0, want, ""},
		{"{ format: jsonfg }", fg, 0, want, ""},
		{"{ format: cloudevents }", event, 0, want, ""},
		{"{ format: debezium }", change + "\n" + deleted, 0, want, ""},
		{"{ format: cloudevents }", plain, 4, "", `"code":"envelope_malformed"`},
		{"{ format: geojson }", event, 4, "", `"code":"not_a_feature"`},
		{"{ split: features }", `{"type":"FeatureCollection","features":[` + plain + "]}", 0, want, ""},
		{"{ format: geojson }", `{"type":"FeatureCollection","features":[` + plain + "]}", 4, "", "set source.split: features"},
		{"{ format: avro }", plain, 2, "", "source.format: avro is bytes"},
		{"{ format: debezium, debezium: { serialization: avro } }\n" + registry, change, 2, "", "source.debezium.serialization: avro is bytes"},
	} {
		code, stdout, stderr := filtered(t, c.in, "-c", file(t, mapping+"source: "+c.source+"\n"))
		expect.That(t, code == c.code && stdout == c.out && strings.Contains(stderr, c.err) && (c.err != "" || stderr == ""),
			"%s: exit %d, %q, %q", c.source, code, stdout, stderr)
	}
}

// S0-2: init and transform read the same inputs.
func TestTransformAndInit_S0_2_readTheSame(t *testing.T) {
	const feature = `{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"a"}}`
	pretty := strings.ReplaceAll(feature, ",", ",\n  ")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(feature + "\n"))
	must.That(t, err == nil && w.Close() == nil, "%v", err)
	for name, in := range map[string]string{
		"a line": feature + "\n", "over several lines": pretty, "a collection": "{\n\"type\": \"FeatureCollection\",\n\"features\": [\n" + feature + "\n]\n}\n",
		"a sequence": "\x1e" + pretty + "\n", "gzip": packed.String(), "a byte order mark": "\xef\xbb\xbf" + feature,
	} {
		from, made := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "pipeline.yaml")
		must.Do(t, os.WriteFile(from, []byte(in), 0o600))
		if code, _, stderr := called(t, "init", from, "--out", made); code != cli.ExitDone || strings.Contains(stderr, "warning") {
			t.Errorf("%s: init: exit %d, %s", name, code, stderr)
			continue
		}
		code, stdout, stderr := filtered(t, in, "-c", made)
		expect.That(t, code == cli.ExitDone && stdout == feature+"\n" && stderr == "", "%s: transform: exit %d, %q, %q", name, code, stdout, stderr)
	}
}
