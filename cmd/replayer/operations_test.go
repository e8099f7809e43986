package main

import (
	"encoding/json"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// actions reads what `audit --operations` prints.
func (d *desk) actions(args ...string) (all []replay.Action) {
	d.t.Helper()
	d.want(cli.ExitDone, append([]string{"audit", "-c", "pipeline.yaml", "--operations"}, args...)...)
	for line := range strings.Lines(d.out.String()) {
		var a replay.Action
		must.Do(d.t, json.Unmarshal([]byte(line), &a))
		all = append(all, a)
	}
	return all
}
