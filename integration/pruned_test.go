package integration

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-8: a plan outlives letters of its own: apply says so of each, whatever the broker answers about their offsets.
func TestReplay_S4_8_a_plan_whose_letters_were_pruned(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	p.dead(6)
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	p.replayer(0, nil, "plan", "-f", file)
	p.replayer(0, nil, "discard", "--all", "--execute", "--reason", "not wanted")
	p.replayer(0, nil, "prune", "--older-than", "0s", "--execute", "--reason", "clean-up")
	var result struct {
		Left    int
		Skipped []struct{ Why string }
	}
	p.replayer(4, &result, "replay", "--plan", file, "--execute", "--reason", "too late")
	if result.Left != 6 || !strings.Contains(result.Skipped[0].Why, "is gone: retention took it") {
		t.Errorf("%+v", result)
	}
}
