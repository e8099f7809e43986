package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
)

// Values change on the way back: the dry run shows what becomes of them by shape, the command that it prints does it, and a plan runs a
// program only when that is given again.
func TestRewriting_S4_8_C4(t *testing.T) {
	d, at := payments(t, false)
	for i := range 6 {
		d.put(d.died("payments", int32(i%3), int64(i), fmt.Sprintf("k%d", i), fmt.Sprintf(`{"amount":%d,"status":"open"}`, i)))
	}
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--expr", "value.status = upper(value.status)")...)
	if shown := d.out.String(); !strings.Contains(shown, `changes /status, for example /status: "open" -> "OPEN"`) {
		t.Errorf("%s", shown)
	}
	printed := ""
	for line := range strings.Lines(d.err.String()) {
		if strings.Contains(line, "replayer replay --brokers") {
			printed = line
		}
	}
	if !strings.Contains(printed, `--expr 'value.status = upper(value.status)'`) {
		t.Errorf("%s", &d.err)
	}
	d.want(cli.ExitDone, with(at, "replay", "--limit", "2", "--origin", "payments", "--expr", "value.status = upper(value.status)", "--execute", "--reason", "renamed", "--create-topics")...)
	d.want(cli.ExitDone, with(at, "plan", "-f", "p.jsonl", "--limit", "2", "--origin", "payments", "--filter", `sed s/open/DONE/`)...)
	if !strings.Contains(d.err.String(), `--filter 'sed s/open/DONE/'`) {
		t.Errorf("%s", &d.err)
	}
	d.want(cli.ExitUsage, with(at, "replay", "--plan", "p.jsonl", "--execute", "--reason", "renamed")...)
	if !strings.Contains(d.err.String(), "has to be given again") {
		t.Errorf("%s", &d.err)
	}
	d.want(cli.ExitDone, with(at, "replay", "--plan", "p.jsonl", "--filter", `sed s/open/DONE/`, "--execute", "--reason", "renamed")...)
	if err := os.WriteFile("payment.schema.json", []byte(`{"properties":{"amount":{"maximum":3}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(cli.ExitPartly, with(at, "replay", "--all", "--origin", "payments", "--schema", "payment.schema.json", "--execute", "--reason", "checked", "-o", "table")...)
	if shown := d.out.String(); !strings.Contains(shown, "/amount: ") {
		t.Errorf("%s", shown)
	}
	got := map[string]int{}
	for _, r := range d.read("payments") {
		for _, word := range []string{"OPEN", "DONE", "open"} {
			got[word] += strings.Count(string(r.Value), `"`+word+`"`)
		}
	}
	if got["OPEN"] != 2 || got["DONE"] != 2 || got["open"] != 1 {
		t.Errorf("put back %v", got)
	}
}

func TestRewriting_S4_8_refusesWhatCannotBe(t *testing.T) {
	d, at := payments(t, false)
	for want, args := range map[string][]string{
		"give one of":            {"--set", "a=1", "--filter", "cat"},
		"write value.field":      {"--expr", "upper(value.a)"},
		"--schema: ":             {"--schema", "nowhere.json"},
		"--patch: it is no JSON": {"--patch", "[{"},
		"needs some time":        {"--filter", "cat", "--filter-timeout", "0s"},
	} {
		d.want(cli.ExitUsage, with(at, append([]string{"replay"}, args...)...)...)
		if !strings.Contains(d.err.String(), want) {
			t.Errorf("%v: %s", args, &d.err)
		}
	}
	own := newDesk(t, false)
	own.fill()
	own.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--set", "properties.a=1")
	if !strings.Contains(own.err.String(), "replayer edit") {
		t.Errorf("%s", &own.err)
	}
	own.want(cli.ExitRefused, "edit", "-c", "pipeline.yaml", "--expr", `value.properties.note = upper("fixed")`)
	if !strings.Contains(own.err.String(), "can be edited so") {
		t.Errorf("%s", &own.err)
	}
	own.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml")
}
