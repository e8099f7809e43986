package main

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// A share is a lower bound, since offsets count transaction markers too, and says so.
func TestShareText_S4_6_isALowerBound(t *testing.T) {
	for share, want := range map[float64]string{-1: "-", 0: "≥0.00 %", 0.00001: ">0 %", 0.0268: "≥2.68 %", 1: "≥100.00 %"} {
		got := shareText(share)
		expect.That(t, got == want, "%v: %s, want %s", share, got, want)
	}
}
