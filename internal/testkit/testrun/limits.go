package testrun

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// The environment variables of the time factor and of the seed.
const (
	patienceVariable = "SWITCHBACK_TEST_PATIENCE"
	seedVariable     = "SWITCHBACK_TEST_SEED"
)

// patience is the default factor. Limits only end what hangs, so the factor is generous.
const patience = 5

// Patient returns the time limit for an operation that takes at most d on an idle machine. SWITCHBACK_TEST_PATIENCE sets
// the factor, a whole number from 1. A limit ends a test that hangs; no test asserts that something is fast.
func Patient(d time.Duration) time.Duration {
	s := os.Getenv(patienceVariable)
	if s == "" {
		return patience * d
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s=%q: want a whole number from 1", patienceVariable, s))
	}
	return time.Duration(n) * d
}

// Context returns the context of a test with the time limit for work that takes at most d on an idle machine.
func Context(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patient(d))
	t.Cleanup(cancel)
	return ctx
}

// Seed returns the seed of a test's random inputs and logs it: SWITCHBACK_TEST_SEED, or 1. The same seed produces the
// same inputs, so a failure can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if s := os.Getenv(seedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("%s=%q: want a whole number", seedVariable, s)
		}
	}
	t.Logf("seed %d (%s)", seed, seedVariable)
	return seed
}
