package simulate

import (
	"fmt"
	"math"
	"strconv"

	"github.com/switchback-geo/switchback/internal/config"
)

// Expect has the conditions at the end of a scenario. A missing key sets no condition.
type Expect struct {
	// MaxDLQShare is the largest share of the records that may die, from 0 to 1.
	MaxDLQShare *float64 `jsonschema:"minimum=0,maximum=1" yaml:"max_dlq_share,omitempty"`
	// MaxDrainTime is the longest time from the last arrival until nothing waits.
	MaxDrainTime *config.Duration `least:"0s" most:"8760h" yaml:"max_drain_time,omitempty"`
	// MaxRecoveryTime is the longest time from the end of an outage until its backlog is gone.
	MaxRecoveryTime *config.Duration `least:"0s" most:"8760h" yaml:"max_recovery_time,omitempty"`
	// MaxProviderRPS is the most requests that any provider may get in any second.
	MaxProviderRPS *float64 `jsonschema:"minimum=0" yaml:"max_provider_rps,omitempty"`
	// MaxLateness is how long after its due time a retry may begin, except for one in a hundred.
	MaxLateness *config.Duration `least:"0s" most:"8760h" yaml:"max_lateness,omitempty"`
	// MaxWaiting is the most records that may wait in any one tier.
	MaxWaiting *float64 `jsonschema:"minimum=0" yaml:"max_waiting,omitempty"`
	// MaxLag is the most records of the source that may wait for their first attempt.
	MaxLag *float64 `jsonschema:"minimum=0" yaml:"max_lag,omitempty"`
	// MaxAmplification is the most requests per record that any provider may get over the whole run.
	MaxAmplification *float64 `jsonschema:"minimum=0" yaml:"max_amplification,omitempty"`
	// MaxTransientShare is the largest share of attempts in any ten minutes that may fail transiently, from 0 to 1.
	MaxTransientShare *float64 `jsonschema:"minimum=0,maximum=1" yaml:"max_transient_share,omitempty"`
	// MaxPausedTime is how long gates may pause the pipeline altogether.
	MaxPausedTime *config.Duration `least:"0s" most:"8760h" yaml:"max_paused_time,omitempty"`
}

// Keys lists the expectations that are written.
func (e Expect) Keys() []string {
	var keys []string
	for _, v := range e.judge(Report{}) {
		keys = append(keys, v.Expectation)
	}
	return keys
}

// Verdict is one expectation and its result.
type Verdict struct {
	Expectation string  `json:"expectation"` // its key
	Limit       float64 `json:"limit"`       // times in seconds
	// Actual is nil for a time that was never reached.
	Actual *float64 `json:"actual"`
	OK     bool     `json:"ok"`
	// Why explains the actual value if it exceeds the limit.
	Why string `json:"why,omitempty"`
}

// Broken lists the expectations that did not hold.
func (r Report) Broken() []Verdict {
	var out []Verdict
	for _, v := range r.Expectations {
		if !v.OK {
			out = append(out, v)
		}
	}
	return out
}

// never is the value of a time that was not reached: later than any limit.
func never() float64 { return math.Inf(1) }

func (e Expect) judge(r Report) []Verdict {
	out := []Verdict{}
	number := func(key string, limit *float64, actual float64, why string) {
		if limit == nil {
			return
		}
		v := Verdict{Expectation: key, Limit: *limit, OK: actual <= *limit}
		if !v.OK {
			v.Why = why
		}
		if actual != never() {
			v.Actual = &actual
		}
		out = append(out, v)
	}
	span := func(key string, limit *config.Duration, actual float64, why string) {
		if limit != nil {
			seconds := limit.Std().Seconds()
			number(key, &seconds, actual, why)
		}
	}
	number("max_dlq_share", e.MaxDLQShare, r.DLQShare, deadliest(r))
	drain, drained := never(), fmt.Sprintf("%s records still waited when the simulation gave up", amount(r.Unfinished))
	if r.DrainTime != nil {
		drain, drained = float64(*r.DrainTime), ""
	}
	span("max_drain_time", e.MaxDrainTime, drain, drained)
	slowest, after := slowestRecovery(r)
	span("max_recovery_time", e.MaxRecoveryTime, slowest, after)
	rps, provider := busiest(r)
	number("max_provider_rps", e.MaxProviderRPS, rps, provider)
	span("max_lateness", e.MaxLateness, float64(r.Lateness.P99), "one retry in a hundred starts later than that")
	fullest, tier := fullestTier(r)
	number("max_waiting", e.MaxWaiting, fullest, tier)
	number("max_lag", e.MaxLag, r.PeakLag, "records are consumed more slowly than they arrive; add instances or raise engine.concurrency")
	number("max_amplification", e.MaxAmplification, r.Amplification, "")
	number("max_transient_share", e.MaxTransientShare, r.PeakTransientShare, "in the worst ten minutes")
	span("max_paused_time", e.MaxPausedTime, float64(r.PausedTime), pausedBy(r))
	return out
}

func pausedBy(r Report) string {
	if len(r.Pauses) == 0 {
		return ""
	}
	return fmt.Sprintf("first %v after the start: %s", r.Pauses[0].At.Std(), r.Pauses[0].Reason)
}

func deadliest(r Report) string {
	if len(r.ByCode) == 0 {
		return ""
	}
	return fmt.Sprintf("most of them with code %s, reason %s", r.ByCode[0].Name, r.ByReason[0].Name)
}

func slowestRecovery(r Report) (seconds float64, why string) {
	for _, o := range r.Recovery {
		took := never()
		if o.Took != nil {
			took = float64(*o.Took)
		}
		if took > seconds {
			seconds, why = took, fmt.Sprintf("after the outage of %s from %v to %v", o.Provider, o.From.Std(), o.To.Std())
		}
	}
	return seconds, why
}

func busiest(r Report) (rps float64, why string) {
	for _, p := range r.Providers {
		if p.Peak > rps {
			rps, why = p.Peak, fmt.Sprintf("%s, %v after the start", p.Name, p.PeakAt.Std())
		}
	}
	return rps, why
}

func fullestTier(r Report) (records float64, why string) {
	for _, t := range r.Tiers {
		if t.Peak > records {
			records, why = t.Peak, fmt.Sprintf("%s, %v after the start", t.Topic, t.PeakAt.Std())
		}
	}
	return records, why
}

// amount writes a number of records without more digits than it has.
func amount(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }
