package main

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

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
		d.says(want)
	}
	own := newDesk(t, false)
	own.fill()
	own.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--set", "properties.a=1")
	expect.That(t, strings.Contains(own.err.String(), "replayer edit"), "%s", &own.err)
	own.want(cli.ExitRefused, "edit", "-c", "pipeline.yaml", "--expr", `value.properties.note = upper("fixed")`)
	expect.That(t, strings.Contains(own.err.String(), "can be edited so"), "%s", &own.err)
	own.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml")
}
