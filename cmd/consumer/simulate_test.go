package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(append([]string{"simulate", "-c", pipeline}, c.args...)...)
			expect.That(t, code == c.code && strings.Contains(stdout, c.stdout) && strings.Contains(stderr, c.stderr),
				"exit %d, want %d\nstdout %s\nstderr %s", code, c.code, stdout, stderr)
		})
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
