package main

import (
	"encoding/json"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestVersion_needsNeitherFileNorBroker(t *testing.T) {
	d := newDesk(t, true)
	d.want(cli.ExitDone, "version")
	d.env.Terminal = false
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}} {
		d.want(cli.ExitDone, args...)
		var got cli.Build
		err := json.Unmarshal(d.out.Bytes(), &got)
		expect.That(t, err == nil && got == d.env.Version, "%v: %v\n%s", args, err, &d.out)
	}
	d.want(cli.ExitUsage, "version", "now")
}
