//go:build bench

package transform

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// rounds is how often the two binaries alternate.
const rounds = 7

// BenchmarkBefore compares this binary with the same benchmark of another commit, which was built there by `go test
// -tags bench -c -o FILE ./bench/transform`. BENCH_BEFORE names its file. The two binaries alternate, so that other
// load on the machine affects both.
func BenchmarkBefore(b *testing.B) {
	other := os.Getenv("BENCH_BEFORE")
	if other == "" {
		b.Skip("BENCH_BEFORE names no test binary to compare with")
	}
	mine := must.Get(os.Executable())(b)
	for b.Loop() {
		var before, after, ratios []float64
		for range rounds {
			x, y := measured(b, other), measured(b, mine)
			before, after, ratios = append(before, x), append(after, y), append(ratios, y/x)
		}
		for unit, values := range map[string][]float64{"before-" + cpuUnit: before, "after-" + cpuUnit: after, "ratio": ratios} {
			slices.Sort(values)
			b.ReportMetric(values[0], unit+"-min")
			b.ReportMetric(values[rounds/2], unit+"-median")
			b.ReportMetric(values[rounds-1], unit+"-max")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// measured runs BenchmarkHandle of a binary and returns the processor time of an event.
func measured(b *testing.B, binary string) float64 {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), binary, "-test.run=^$", "-test.bench=^BenchmarkHandle$", "-test.benchtime=60000x").CombinedOutput()
	must.That(b, err == nil, "%s: %v\n%s", binary, err, out)
	found := regexp.MustCompile(`([0-9.]+) ` + cpuUnit).FindSubmatch(out)
	must.That(b, found != nil, "%s has no figure in %s:\n%s", binary, cpuUnit, out)
	return must.Get(strconv.ParseFloat(string(found[1]), 64))(b)
}
