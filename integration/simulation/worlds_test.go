//go:build synctests

package simulation

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// TestWorld runs the world whose plan is in the environment, and prints its result as a line of JSON that begins with
// ResultMark. The command play starts it in a separate process for each world, so that a run does not depend on earlier
// worlds.
func TestWorld(t *testing.T) {
	text := os.Getenv(EnvPlan)
	if text == "" {
		t.Skipf("it needs a plan in %s: go run ./integration/simulation/play plays worlds", EnvPlan)
	}
	p, err := plan.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var logs io.Writer
	if os.Getenv(EnvLogs) != "" {
		logs = os.Stdout
	}
	cryptotest.SetGlobalRandom(t, p.Seed)
	dir := t.TempDir()
	var result Result
	synctest.Test(t, func(t *testing.T) {
		var err error
		if result, err = Play(p, dir, logs); err != nil {
			t.Fatal(err)
		}
	})
	line, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s%s\n", ResultMark, line)
}
