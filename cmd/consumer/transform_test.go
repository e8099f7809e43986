package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
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

// Exit codes, and the contents of both outputs.
func TestTransform(t *testing.T) {
	name := file(t, mapping)
	const want = `{"type":"Feature","id":1,"geometry":null,"properties":{"name":"a"}}` + "\n"
	code, stdout, stderr := filtered(t, named, "-c", name)
	expect.That(t, code == 0 && stdout == want && stderr == "", "all pass: exit %d, %q, %q", code, stdout, stderr)
	code, stdout, stderr = filtered(t, named+unnamed, "-c", name)
	expect.That(t, code == 4 && stdout == want && strings.HasPrefix(stderr, `{"line":2,"code":"missing_required",`) && strings.Count(stderr, "\n") == 1, "one is refused: exit %d, %q, %q", code, stdout, stderr)
	rejects := filepath.Join(t.TempDir(), "bad.ndjson")
	code, stdout, stderr = filtered(t, named+unnamed, "-c", name, "--rejects", rejects, "--meta")
	text, err := os.ReadFile(rejects)
	expect.That(t, err == nil && code == 4 && strings.HasPrefix(string(text), `{"line":2,`) && strings.Contains(stderr, "1 of 2 lines rejected; see "+rejects), "rejections in a file: exit %d, %q, %q, %v", code, text, stderr, err)
	expect.That(t, strings.Contains(stdout, `"switchback":{"feature_id":"1","content_hash":"sha256:`), "--meta: %q", stdout)
	code, _, stderr = filtered(t, named, "-c", name, "--rejects", filepath.Join(t.TempDir(), "no", "folder"))
	expect.That(t, code == 2 && strings.Contains(stderr, "--rejects"), "a file that cannot be created: exit %d, %q", code, stderr)
	code, _, stderr = filtered(t, named, "-c", file(t, pipelineFile+"transform: { unmapped: perhaps }\n"))
	expect.That(t, code == 2 && strings.Contains(stderr, "transform.unmapped"), "a mapping with a fault: exit %d, %q", code, stderr)
}

// Remote steps are only called if the command line enables them.
func TestTransform_enrich(t *testing.T) {
	name := file(t, mapping+"enrich: [{ name: place, http: { url: \"http://127.0.0.1:1/{id}\", allow_private: true }, set: { place: /name } }]\n")
	code, stdout, stderr := filtered(t, named, "-c", name)
	expect.That(t, code == 0 && stdout != "", "without: exit %d, %q, %q", code, stdout, stderr)
	code, stdout, stderr = filtered(t, named, "-c", name, "--enrich")
	expect.That(t, code == 4 && stdout == "" && strings.Contains(stderr, `"code":"connection_refused"`), "with: exit %d, %q, %q", code, stdout, stderr)
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
		from, generated := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "pipeline.yaml")
		must.Do(t, os.WriteFile(from, []byte(in), 0o600))
		if code, _, stderr := called(t, "init", from, "--out", generated); code != cli.ExitDone || strings.Contains(stderr, "warning") {
			t.Errorf("%s: init: exit %d, %s", name, code, stderr)
			continue
		}
		code, stdout, stderr := filtered(t, in, "-c", generated)
		expect.That(t, code == cli.ExitDone && stdout == feature+"\n" && stderr == "", "%s: transform: exit %d, %q, %q", name, code, stdout, stderr)
	}
}

// called runs a command line and returns its exit code and output.
func called(t *testing.T, args ...string) (code cli.Exit, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

// S0-2: a file that init writes from real features passes validate, is not overwritten without a flag, and names its
// origin.
func TestInit_S0_2(t *testing.T) {
	dir := t.TempDir()
	features, file := filepath.Join(dir, "Parcels of 2026.ndjson"), filepath.Join(dir, "pipeline.yaml")
	text := `{"type":"Feature","id":"a","properties":{"n":1},"geometry":{"type":"Point","coordinates":[1,2]}}` + "\n"
	must.Do(t, os.WriteFile(features, []byte(text), 0o600))
	code, stdout, stderr := called(t, "init", features, "--out", file)
	must.That(t, code == cli.ExitDone && stdout == "" && strings.Contains(stderr, "from 1 feature"), "%d %s %s", code, stdout, stderr)
	code, _, stderr = called(t, "validate", "-c", file)
	expect.That(t, code == cli.ExitDone, "validate: %d %s", code, stderr)
	written, err := os.ReadFile(file)
	expect.That(t, err == nil && strings.Contains(string(written), `id: "parcels-of-2026"`) && strings.Contains(string(written), "1 feature of Parcels of 2026.ndjson"), "%v\n%s", err, written)
	code, _, stderr = called(t, "init", features, "--out", file)
	expect.That(t, code == cli.ExitUsage && strings.Contains(stderr, "--force overwrites it"), "over a file: %d %s", code, stderr)
	code, _, stderr = called(t, "init", features, "--out", file, "--force", "--id", "other", "--topic", "t")
	expect.That(t, code == cli.ExitDone, "--force: %d %s", code, stderr)
	code, stdout, _ = called(t, "init", features, "--brokers", "k1:9092,k2:9092")
	expect.That(t, code == cli.ExitDone && strings.Contains(stdout, `brokers: ["k1:9092", "k2:9092"]`), "to standard output: %d %s", code, stdout)
	t.Setenv("SWITCHBACK_KAFKA_BROKERS", "k3:9092, k4:9092")
	code, stdout, _ = called(t, "init", features)
	expect.That(t, code == cli.ExitDone && strings.Contains(stdout, `brokers: ["k3:9092", "k4:9092"]`), "with the variable: %d %s", code, stdout)
	code, _, stderr = called(t, "init", features, "--out", features, "--force")
	expect.That(t, code == cli.ExitUsage && strings.Contains(stderr, "is the sample itself"), "over the sample: %d %s", code, stderr)
	kept, err := os.ReadFile(features)
	expect.That(t, err == nil && string(kept) == text, "the sample is %q now (%v)", kept, err)
	metres := filepath.Join(dir, "metres.ndjson")
	must.Do(t, os.WriteFile(metres, []byte(strings.Replace(text, "[1,2]", "[2600000,1200000]", 1)), 0o600))
	code, _, stderr = called(t, "init", metres)
	expect.That(t, code == cli.ExitDone && strings.Contains(stderr, "it refuses 1 of 1 feature of the sample, the first: "), "a sample that the file refuses: %d %s", code, stderr)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no sample":     {[]string{"init"}, "needs one argument"},
		"two samples":   {[]string{"init", features, features}, "needs one argument"},
		"not there":     {[]string{"init", filepath.Join(dir, "none")}, "no such file"},
		"no features":   {[]string{"init", file}, "invalid character"},
		"no id":         {[]string{"init", features, "--id", "a b"}, "pipeline.id"},
		"no topic name": {[]string{"init", features, "--topic", "a b"}, "source.topic"},
	} {
		code, stdout, stderr := called(t, c.args...)
		expect.That(t, code == cli.ExitUsage && stdout == "" && strings.Contains(stderr, c.says), "%s: %d %q %s", name, code, stdout, stderr)
	}
}

// A field whose source occurs in no line is reported with a suggestion. An optional field would otherwise pass silently.
func TestTransform_namesFieldsThatReadNothing(t *testing.T) {
	const in = `{"type":"Feature","id":1,"geometry":null,"properties":{"magType":"ml","mag":1.5,"place":{"name":"x"}}}` + "\n" +
		`{"type":"FeatureCollection","features":[{"type":"Feature","id":2,"geometry":null,"properties":{"depth":3}}]}` + "\n"
	for _, c := range []struct{ name, field, want string }{
		{"misspelt", "{ from: magTpye, to: kind }", `transform.fields[0].from (line 6): none of 2 features has the property "magTpye"; did you mean "magType"?`},
		{"from the feature on", "{ from: properties.mag, to: magnitude }", `has the property "properties.mag"; from begins at the properties: write "mag"`},
		{"required", "{ from: properties.mag, to: magnitude, required: true }", `write "mag"`},
		{"like nothing", "{ from: owner, to: owner }", `none of 2 features has the property "owner"` + "\n"},
		{"a path", "{ from: place.name, to: name }", ""},
		{"of a collection", "{ to: depth }", ""},
		{"computed", "{ expr: '1', to: one }", ""},
		{"a flattened name", `{ to: place_name }`, ""},
		{"no flattened name", `{ to: place-name }`, `has the property "place-name"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := file(t, pipelineFile+"transform: { unmapped: drop, flatten: { separator: _ }, fields: ["+c.field+"] }\n")
			_, _, stderr := filtered(t, in, "-c", name)
			_, warning, _ := strings.Cut(stderr, "consumer: warning: ")
			expect.That(t, (c.want != "" || warning == "") && strings.Contains(warning, c.want), "got %q, want %q", stderr, c.want)
		})
	}
}

// validate and plan print the accuracy of coordinates, and faults of the grid files.
func TestCoordinates_S1_4(t *testing.T) {
	const grids = "../../pkg/crs/testdata/grids"
	with := func(folder string) string {
		return file(t, pipelineFile+"transform:\n  geometry: {source_crs: EPSG:31467, target_crs: EPSG:25832, grids: {folder: "+folder+"}}\n")
	}
	const exact, empty = "within 0.9 m; EPSG:15948", "has no grid file for EPSG:31467 to EPSG:25832; add BETA2007.gsb"
	for name, c := range map[string]struct {
		args        []string
		code        cli.Exit
		out, errors string // parts of them
	}{
		"validate":                {[]string{"validate", "-c", with(grids)}, cli.ExitDone, exact, ""},
		"validate_for_programs":   {[]string{"validate", "-c", with(grids), "-o", "ndjson"}, cli.ExitDone, `"coordinates":{"source":"EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)"`, ""},
		"describe":                {[]string{"describe", "-c", with(grids)}, cli.ExitDone, exact, ""},
		"validate_without_a_file": {[]string{"validate", "-c", with(t.TempDir())}, cli.ExitUsage, "", empty},
		"describe_without_a_file": {[]string{"describe", "-c", with(t.TempDir())}, cli.ExitUsage, "", empty},
		"validate_elsewhere":      {[]string{"validate", "-c", with("/nowhere/grids")}, cli.ExitDone, "1 warning", "/nowhere/grids is not on this machine"},
		"describe_elsewhere":      {[]string{"describe", "-c", with("/nowhere/grids")}, cli.ExitDone, "TOPIC", "/nowhere/grids is not on this machine"},
		"transform_elsewhere":     {[]string{"transform", "-c", with("/nowhere/grids")}, cli.ExitUsage, "", "/nowhere/grids"},
	} {
		var out, errs bytes.Buffer
		code := run(c.args, &out, &errs)
		expect.That(t, code == c.code && strings.Contains(out.String(), c.out) && strings.Contains(errs.String(), c.errors), "%s: exit %d\n%s\n%s", name, code, out.String(), errs.String())
	}
}

// Disabled gates and a missing precision floor are printed before anything runs.
func TestValidateAndPlan_S0_8_S0_9_whatIsOff(t *testing.T) {
	const strict = "transform: { geometry: { gates: strict, types: [Point], antimeridian: reject, bbox: check } }\n"
	floor := strings.Replace(pipelineFile, "max_null_rate: 1", "max_null_rate: 1, precision_decimal_threshold: 7", 1)
	for name, c := range map[string]struct {
		file, validate, plan, precision string
		not                             string
	}{
		"default":       {pipelineFile, "gates that are off: geometry.null_geometry, geometry.dimension", "geometry.simplicity: accept", "no floor", ""},
		"strict":        {pipelineFile + strict, "gates that are off: geometry.coarse\neach record needs a key, ", "geometry.coarse", "switchback_coordinate_decimals", "simplicity"},
		"with a floor":  {floor, "gates that are off: ", "geometry.simplicity: accept", "the floor is 7 decimals, broken when more than 50 of the last 100 ordinates have fewer; the output is rounded to 7 decimals", "geometry.coarse"},
		"without keys":  {pipelineFile + "source: { null_keys: accept }\n", "valid, 1 warning", "", "no floor", "needs a key"},
		"all of it":     {floor + strict, "valid", "GATE", "the floor is 7 decimals", "off"},
		"all, and some": {floor + strings.Replace(strict, "bbox: check", "round_decimals: 1", 1), "geometry.bbox", "geometry.bbox: keep", "rounded to 1 decimal\n", "coarse"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, c.file)
			_, out, _ := call("validate", "-c", path)
			expect.That(t, strings.Contains(out, c.validate) && strings.Contains(out, c.precision) && (c.not == "" || !strings.Contains(out, c.not)), "validate:\n%s", out)
			_, out, _ = call("describe", "-c", path)
			off := name != "all of it"
			expect.That(t, strings.Contains(out, "GATE THAT IS OFF") == off && (!off || strings.Contains(out, c.plan)) && strings.Contains(out, c.precision), "plan:\n%s", out)
		})
	}
}

// S0-9: the pipeline file of the requirement lets a single round coordinate pass, and refuses coordinates that were
// truncated to 4 decimals.
func TestTransform_S0_9_theFloorOfTheDocument(t *testing.T) {
	name := "../../internal/config/testdata/pipeline_resilience.yaml"
	lines := func(n, decimals int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `{"type":"Feature","geometry":{"type":"Point","coordinates":[%.*f,%.*f]},"properties":{}}`+"\n", decimals, 9.5+float64(i)/7919, decimals, 47.1+float64(i)/6997)
		}
		return out.String()
	}
	const round = `{"type":"Feature","geometry":{"type":"Point","coordinates":[9.5,47.1]},"properties":{}}` + "\n"
	code, stdout, stderr := filtered(t, lines(200, 7)+round+lines(200, 6), "-c", name)
	expect.That(t, code == 0 && strings.Count(stdout, "\n") == 401, "accurate ones and a round one: exit %d, %s", code, stderr)
	code, stdout, stderr = filtered(t, lines(100, 4), "-c", name)
	expect.That(t, code == 4 && strings.Count(stdout, "\n") == 25 && strings.Count(stderr, `"code":"precision_degraded"`) == 75, "cut to 4 decimals: exit %d, %d lines pass, %s", code, strings.Count(stdout, "\n"), stderr)
}

// S1-8, S4-12: resume prints what had paused the pipeline, when the gates apply again, and how to continue without them.
func TestResumed_S1_8_S4_12_saysWhatTheGateRead(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tolerance := config.Tolerance{MinRecords: 100, Window: config.Duration(10 * time.Minute)}
	paused := control.State{Phase: control.Paused, Code: control.CodeTransientRate, By: "consumer a", At: at,
		Reason: "120 of 600 records (20 %) failed transiently at their first attempt within 10m; pipeline.tolerance.max_transient_rate is 10 %"}
	person := control.State{Phase: control.Paused, Code: control.CodeOperator, By: "ben", Reason: "deployment", At: at}
	now := control.State{Phase: control.Running, At: at.Add(time.Hour)}
	off := now
	off.GatesOff = now.At.Add(10 * time.Minute)
	const judges, how = "each instance applies them again after 100 records, over 10m", "consumer resume --for 10m"
	for name, c := range map[string]struct {
		before, now control.State
		says, not   []string
	}{
		"by a gate":                  {paused, now, []string{"it was paused since 2026-11-21T10:00:00Z by consumer a: 120 of 600 records (20 %)", "(transient_rate)", judges, how}, nil},
		"by a person":                {person, now, []string{"by ben: deployment", judges}, []string{how}},
		"with --for":                 {paused, off, []string{"120 of 600", "off until 2026-11-21T11:10:00Z", "ends that"}, []string{judges, how}},
		"that ends an earlier --for": {off, now, []string{"the rate gates had been turned off", judges}, []string{"it was", how}},
	} {
		got := resumed(tolerance, c.before, c.now)
		for _, text := range c.says {
			expect.That(t, strings.Contains(got, text), "%s: %q is missing in:\n%s", name, text, got)
		}
		for _, text := range c.not {
			expect.That(t, !strings.Contains(got, text), "%s: unexpected %q in:\n%s", name, text, got)
		}
	}
}

func TestResume_S4_12_forHasBounds(t *testing.T) {
	for name, c := range map[string]struct {
		flags orderFlags
		given bool
		want  string
	}{
		"not given":      {orderFlags{}, false, ""},
		"ten minutes":    {orderFlags{gatesOff: 10 * time.Minute}, true, ""},
		"a day":          {orderFlags{gatesOff: 24 * time.Hour}, true, ""},
		"nothing":        {orderFlags{}, true, "--for 0s: want a time above 0, such as 10m"},
		"less":           {orderFlags{gatesOff: -time.Minute}, true, "--for -1m0s: want a time above 0"},
		"more than that": {orderFlags{gatesOff: 25 * time.Hour}, true, "--for 25h0m0s: want at most 24h"},
		"and a batch":    {orderFlags{gatesOff: time.Minute, batch: "b"}, true, "set one of them"},
	} {
		err := c.flags.checkGatesOff(c.given)
		expect.That(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)), "%s: %v, want %q", name, err, c.want)
	}
}

func TestSimulate_S0_12_exitCodes(t *testing.T) {
	pipeline := file(t, pipelineFile)
	holds := file(t, "rate: 20\nduration: 30s\nproviders: [{name: handler, errors: {share: 0.1}}]\nexpect: { max_dlq_share: 0.5 }\n")
	breaks := file(t, "rate: 20\nduration: 30s\nproviders: [{name: handler, errors: {share: 0.1}}]\nexpect: { max_provider_rps: 1 }\n")
	paused := file(t, "rate: 20\nduration: 30s\nproviders: [{name: handler, errors: {share: 1}}]\nexpect: { max_paused_time: 0s }\n")
	for _, c := range []struct {
		name           string
		args           []string
		code           cli.Exit
		stdout, stderr string
	}{
		{"the default scenario", []string{"--hours", "0.01", "--rate", "50"}, 0, "then", ""},
		{"all expectations hold", []string{"--scenario", holds, "--expect"}, 0, "max_dlq_share", ""},
		{"a broken expectation", []string{"--scenario", breaks, "--expect"}, 4, "BROKEN", "1 of 1 expectation broken"},
		{"a gate that holds", []string{"--scenario", paused, "--expect"}, 4, "PAUSED by a gate", "1 of 1 expectation broken"},
		{"a broken expectation without --expect", []string{"--scenario", breaks}, 0, "BROKEN", ""},
		{"nothing expected", []string{"--expect"}, 2, "", "the scenario has no expectations"},
		{"no scenario", []string{"--scenario", "nowhere.yaml"}, 2, "", "nowhere.yaml"},
		{"faults of a scenario", []string{"--scenario", file(t, "rte: 1\n")}, 2, "", ":1:1: rte: unknown key; did you mean rate?"},
		{"a rate of nothing", []string{"--rate", "0"}, 2, "", "--rate 0: out of range"},
		{"more instances than can be simulated", []string{"--instances", "10001"}, 2, "", "--instances 10001: out of range"},
		{"more than can be simulated", []string{"--scenario", file(t, "rate: 1000000\n")}, 2, "", "the simulation is too large: up to 2000000 records can be simulated"},
		{"another format", []string{"-o", "xml"}, 2, "", "table, json, ndjson"},
	} {
		code, stdout, stderr := call(append([]string{"simulate", "-c", pipeline}, c.args...)...)
		expect.That(t, code == c.code && strings.Contains(stdout, c.stdout) && strings.Contains(stderr, c.stderr), "%s: exit %d, want %d\nstdout %s\nstderr %s", c.name, code, c.code, stdout, stderr)
	}
}

func TestSimulate_jsonIsOneObject(t *testing.T) {
	code, stdout, _ := call("simulate", "-c", file(t, pipelineFile), "--rate", "20", "--hours", "0.01", "-o", "json")
	var report map[string]any
	err := json.Unmarshal([]byte(stdout), &report)
	must.That(t, err == nil && code == 0, "exit %d, %v", code, err)
	for _, key := range []string{"dlq_share", "drain_seconds", "timelines", "tiers", "providers", "series", "expectations"} {
		expect.That(t, report[key] != nil, "no %s in the report", key)
	}
}
