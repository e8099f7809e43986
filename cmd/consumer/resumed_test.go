package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S1-8, S4-12: resume says what had paused the pipeline, from when on the gates judge again, and how to go on without them.
func TestResumed_S1_8_S4_12_saysWhatTheGateRead(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tolerance := config.Tolerance{MinRecords: 100, Window: config.Duration(10 * time.Minute)}
	paused := control.State{Phase: control.Held, Code: control.CodeTransientRate, By: "consumer a", At: at,
		Reason: "120 of 600 records (20 %) failed transiently at their first attempt within 10m; pipeline.tolerance.max_transient_rate is 10 %"}
	person := control.State{Phase: control.Held, Code: control.CodeOperator, By: "ben", Reason: "deployment", At: at}
	now := control.State{Phase: control.Running, At: at.Add(time.Hour)}
	off := now
	off.GatesOff = now.At.Add(10 * time.Minute)
	const judges, how = "each instance judges again from 100 records on, over 10m", "consumer resume --for 10m"
	for name, c := range map[string]struct {
		before, now control.State
		says, not   []string
	}{
		"by a gate":                  {paused, now, []string{"it was paused since 2026-11-21T10:00:00Z by consumer a: 120 of 600 records (20 %)", "(transient_rate)", judges, how}, nil},
		"by a person":                {person, now, []string{"by ben: deployment", judges}, []string{how}},
		"with --for":                 {paused, off, []string{"120 of 600", "off until 2026-11-21T11:10:00Z", "ends that"}, []string{judges, how}},
		"that ends an earlier --for": {off, now, []string{"until now the rate gates were off", judges}, []string{"it was", how}},
	} {
		got := resumed(tolerance, c.before, c.now)
		for _, text := range c.says {
			expect.That(t, strings.Contains(got, text), "%s: does not say %q:\n%s", name, text, got)
		}
		for _, text := range c.not {
			expect.That(t, !strings.Contains(got, text), "%s: says %q:\n%s", name, text, got)
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
		"and a batch":    {orderFlags{gatesOff: time.Minute, batch: "b"}, true, "give one of them"},
	} {
		err := c.flags.checkGatesOff(c.given)
		expect.That(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)), "%s: %v, want %q", name, err, c.want)
	}
}

func TestSimulate_S0_12_exitCodes(t *testing.T) {
	pipeline := file(t, pipelineFile)
	holds := file(t, "rate: 20\nduration: 30s\nproviders: [{name: handler, errors: {share: 0.1}}]\nexpect: { max_dlq_share: 0.5 }\n")
	breaks := file(t, "rate: 20\nduration: 30s\nproviders: [{name: handler, errors: {share: 0.1}}]\nexpect: { max_provider_rps: 1 }\n")
	held := file(t, "rate: 20\nduration: 30s\nproviders: [{name: handler, errors: {share: 1}}]\nexpect: { max_held_time: 0s }\n")
	for _, c := range []struct {
		name           string
		args           []string
		code           cli.Exit
		stdout, stderr string
	}{
		{"the default scenario", []string{"--hours", "0.01", "--rate", "50"}, 0, "then", ""},
		{"all expectations hold", []string{"--scenario", holds, "--expect"}, 0, "max_dlq_share", ""},
		{"a broken expectation", []string{"--scenario", breaks, "--expect"}, 4, "BROKEN", "1 of 1 expectation broken"},
		{"a gate that holds", []string{"--scenario", held, "--expect"}, 4, "HELD by a gate", "1 of 1 expectation broken"},
		{"a broken expectation that nobody asked for", []string{"--scenario", breaks}, 0, "BROKEN", ""},
		{"nothing expected", []string{"--expect"}, 2, "", "the scenario expects nothing"},
		{"no scenario", []string{"--scenario", "nowhere.yaml"}, 2, "", "nowhere.yaml"},
		{"faults of a scenario", []string{"--scenario", file(t, "rte: 1\n")}, 2, "", ":1:1: rte: unknown key; did you mean rate?"},
		{"a rate of nothing", []string{"--rate", "0"}, 2, "", "--rate 0: out of range"},
		{"more instances than are played", []string{"--instances", "10001"}, 2, "", "--instances 10001: out of range"},
		{"more than is played", []string{"--scenario", file(t, "rate: 1000000\n")}, 2, "", "the simulation is too large: up to 2000000 records are played"},
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
