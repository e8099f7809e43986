package main

import (
	"fmt"
	"math"
	"slices"
)

// progress is the number of events committed after the first commit, and the time they took.
type progress struct {
	Events  int
	Seconds float64
}

func (p progress) rate() float64 { return float64(p.Events) / p.Seconds }

// summary describes a sample, in the sample's unit.
type summary struct {
	N                  int
	Min, P50, P99, Max float64
}

// lateness is the time from the due time of retries to their start and to their commit, in ms.
type lateness struct {
	Start, Committed summary
	Idle             int // retries that are left out because the source was drained when they were due
}

func summarize(sample []float64) summary {
	if len(sample) == 0 {
		return summary{}
	}
	sorted := slices.Sorted(slices.Values(sample))
	return summary{
		N: len(sorted), Min: sorted[0], P50: quantile(sorted, 0.5), P99: quantile(sorted, 0.99), Max: sorted[len(sorted)-1],
	}
}

// quantile returns the smallest value that at least the share q of a sorted sample does not exceed.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// median returns the middle of a sample, or the mean of its two middle values.
func median(sample []float64) float64 {
	sorted := slices.Sorted(slices.Values(sample))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread formats min / median / max.
func spread(format string, sample []float64) string {
	form := format + " / " + format + " / " + format
	return fmt.Sprintf(form, slices.Min(sample), median(sample), slices.Max(sample))
}

// each returns a value of every report.
func each(reports []*report, value func(*report) float64) []float64 {
	values := make([]float64, 0, len(reports))
	for _, r := range reports {
		values = append(values, value(r))
	}
	return values
}

// ratios divides the values round by round.
func ratios(a, b []float64) []float64 {
	out := make([]float64, 0, len(a))
	for i := range a {
		out = append(out, a[i]/b[i])
	}
	return out
}
