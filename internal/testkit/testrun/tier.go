package testrun

import (
	"os"
	"testing"
)

// tierVariable names the environment variable that selects the tier.
const tierVariable = "SWITCHBACK_TEST_TIER"

// A tier selects tests. The values are those of SWITCHBACK_TEST_TIER.
type tier string

const (
	fast    tier = "fast"    // run by `go test ./...` with nothing but Go; the default
	proofs  tier = "proofs"  // each guarantee once, on the real server that can falsify it; part of .ci/run
	nightly tier = "nightly" // every test at its full size; .ci/nightly
)

// Skipped begins the message of each test that the tier leaves out. .ci/run uses it to distinguish such a skip from a
// missing server.
const Skipped = "not in this tier: "

// Fast marks a test that runs in the tiers fast and nightly. The tier proofs leaves it out: .ci/run has run it before.
func Fast(t testing.TB) {
	t.Helper()
	if selected(t) == proofs {
		t.Skip(Skipped + "runs in the tier fast")
	}
}

// Proof marks a test that proves a guarantee on a real server. It runs in the tiers proofs and nightly.
func Proof(t testing.TB) {
	t.Helper()
	if selected(t) == fast {
		t.Skip(Skipped + "run it with bash .ci/run, or with " + tierVariable + "=proofs")
	}
}

// Nightly marks a test that varies a guarantee which another test proves, or that takes minutes. It runs in the tier nightly.
func Nightly(t testing.TB) {
	t.Helper()
	if selected(t) != nightly {
		t.Skip(Skipped + "run it with bash .ci/nightly, or with " + tierVariable + "=nightly")
	}
}

// IsNightly reports whether the run is of the tier nightly, for a test that has a small and a full size.
func IsNightly(t testing.TB) bool {
	t.Helper()
	return selected(t) == nightly
}

// selected returns the tier of this run. It fails the test if the environment names none of the three.
func selected(t testing.TB) tier {
	t.Helper()
	switch s := tier(os.Getenv(tierVariable)); s {
	case "", fast:
		return fast
	case proofs, nightly:
		return s
	default:
		t.Fatalf("%s=%q: want fast, proofs or nightly", tierVariable, s)
		return fast
	}
}
