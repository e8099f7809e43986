package main

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
)

// Every command is in a group of the help, and has an example that calls it with flags that it has.
func TestHelp_everyCommandHasAGroupAndAnExample(t *testing.T) {
	d := newDesk(t, true)
	a := &app{env: d.env}
	for _, fault := range cli.HelpFaults(a.root()) {
		t.Error(fault)
	}
}
