package simulate_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/simulate"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func exampleReport() simulate.Report {
	took, is := simulate.Seconds(43.2), 12.0
	return simulate.Report{
		Pipeline: "parcels", Rate: 1e6, Duration: 3600, Instances: 4, Seed: 1,
		Records: 3.6e9, Delivered: 3.6e9, DeadLettered: 1234, DLQShare: 0.0001, Retries: 5,
		ByCode:     []simulate.Share{{Name: "http_unavailable", Records: 1234}},
		Recovery:   []simulate.Recovery{{Provider: "place", From: 900, To: 1500, Took: &took}},
		Timelines:  []simulate.Timeline{{Code: "http_unavailable", Reason: "retries_exhausted", Waits: []simulate.Wait{{Attempt: 2, Least: 2, Most: 3, Topic: "parcels.retry-2s", Earliest: 2, Latest: 3}}}},
		Tiers:      []simulate.TierLoad{{Topic: "parcels.retry-2s", Delay: 2, Peak: 1500, PeakAt: 60}},
		Providers:  []simulate.ProviderLoad{{Name: "place", Requests: 10, Peak: 3}},
		Series:     []simulate.Point{{At: 0, Waiting: []float64{1}, Requests: []float64{2}}, {At: 60, Waiting: []float64{1500}, Requests: []float64{3}}},
		Superseded: 7, Behind: 9, Unfinished: 3,
		Holds:     []simulate.Hold{{At: 90, For: 600, Code: "transient_rate", Reason: "too many", InSource: 4000, InTiers: 12}},
		HeldTimes: 3, HeldTime: 1800,
		NotModelled: []string{"the weather"},
		Expectations: []simulate.Verdict{
			{Expectation: "max_drain_time", Limit: 60, Why: "too slow"}, {Expectation: "max_lag", Limit: 20, Actual: &is, OK: true},
		},
	}
}

func TestPrint_tellsWhatTheReportSays(t *testing.T) {
	var out strings.Builder
	must.Do(t, simulate.Print(&out, exampleReport()))
	for _, want := range []string{
		"1,000,000 records a second for 1h0m0s", "2s to 3s", "retries_exhausted", "0.01 % of the records: http_unavailable 1,234",
		"15m0s to 25m0s", "backlog gone after 43.2s", "drained", "never",
		"BROKEN too slow", "max_lag", "HELD by a gate", "for 10m0s (nobody resumes it; resume_after in the scenario shows what follows): too many",
		"4,000 wait in the source and 12 in the tiers", "times, 30m0s altogether", "waiting while the pipeline is held", "behind a record of the same key",
		"NOT MODELLED\nthe weather", "superseded",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no word of %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colours in plain text")
	}
}
