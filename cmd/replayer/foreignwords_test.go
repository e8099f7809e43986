package main

import (
	"strings"
	"testing"
)

// No advice about a DLQ of other software names a command that knows nothing of it, and a list says of how many it shows the first.
func TestWords_S4_6_ofOtherSoftware(t *testing.T) {
	d := newDesk(t, true)
	d.fill()
	d.want(ExitRuntime, "groups", "-c", "pipeline.yaml", "--topic", "nope", "--index", ":memory:")
	if said := d.err.String(); !strings.Contains(said, "topic does not exist: nope; see the name given with --topic") || strings.Contains(said, "ensure") {
		t.Errorf("%s", said)
	}
	d.want(ExitUsage, "replay", "-c", "pipeline.yaml", "--topic", "features.dlq")
	if said := d.err.String(); !strings.Contains(said, "dead letters of other software are looked at") || strings.Contains(said, "without a pipeline file (-c) dead letters") {
		t.Errorf("%s", said)
	}
	d.want(ExitDone, "list", "-c", "pipeline.yaml", "--limit", "2")
	if said := d.err.String(); !strings.Contains(said, "2 of 5 dead letters") {
		t.Errorf("%s", said)
	}
	d.want(ExitDone, "list", "-c", "pipeline.yaml")
	if said := d.err.String(); strings.Contains(said, " of 5 dead letters") && strings.Contains(said, "5 of 5 dead letters,") {
		t.Errorf("%s", said)
	}
}
