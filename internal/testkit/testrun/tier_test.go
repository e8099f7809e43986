package testrun_test

import (
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

func TestTiers(t *testing.T) {
	marks := map[string]func(testing.TB){"fast": testrun.Fast, "proof": testrun.Proof, "nightly": testrun.Nightly}
	for tier, runs := range map[string][]string{"": {"fast"}, "fast": {"fast"}, "proofs": {"proof"}, "nightly": {"fast", "proof", "nightly"}} {
		t.Setenv("SWITCHBACK_TEST_TIER", tier)
		for _, mark := range []string{"fast", "proof", "nightly"} {
			ran := false
			t.Run(tier+"/"+mark, func(t *testing.T) {
				t.Cleanup(func() { ran = !t.Skipped() })
				marks[mark](t)
			})
			if want := slices.Contains(runs, mark); ran != want {
				t.Errorf("tier %q runs a test marked %s: %v, want %v", tier, mark, ran, want)
			}
		}
	}
}

func TestPatient(t *testing.T) {
	t.Setenv("SWITCHBACK_TEST_PATIENCE", "7")
	if got := testrun.Patient(time.Second); got != 7*time.Second {
		t.Errorf("Patient(1s) = %v with a factor of 7", got)
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("SWITCHBACK_TEST_SEED", "42")
	if got := testrun.Seed(t); got != 42 {
		t.Errorf("Seed = %d, want 42", got)
	}
	t.Setenv("SWITCHBACK_TEST_SEED", "")
	if got := testrun.Seed(t); got != 1 {
		t.Errorf("Seed = %d without a setting, want 1", got)
	}
}
