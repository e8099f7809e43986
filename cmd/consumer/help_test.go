package main

import (
	"io"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
)

// Every command is in a group of the help, and has an example that calls it with flags that it has.
func TestHelp_everyCommandHasAGroupAndAnExample(t *testing.T) {
	signals := listen(io.Discard)
	defer signals.close()
	for _, fault := range cli.HelpFaults(newRoot(signals)) {
		t.Error(fault)
	}
}
