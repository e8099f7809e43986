package simulate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Report is the outcome of a simulation. Amounts are records.
type Report struct {
	Pipeline  string  `json:"pipeline"`
	Rate      float64 `json:"rate"`
	Duration  Seconds `json:"duration_seconds"`
	Instances int     `json:"instances"`
	Seed      int64   `json:"seed"`

	Records      float64 `json:"records"`
	Delivered    float64 `json:"delivered"`
	DeadLettered float64 `json:"dead_lettered"`
	// Superseded counts the records that were closed because a newer record of their key had taken effect.
	Superseded float64 `json:"superseded"`
	// Unfinished is the number of records that still waited when the simulation gave up (see GiveUp); 0 if all are
	// done.
	Unfinished float64 `json:"unfinished"`
	// GaveUp is the time from the last arrival to that moment; 0 if all records are done, or if a paused pipeline is
	// never resumed.
	GaveUp   Seconds `json:"gave_up_seconds"`
	DLQShare float64 `json:"dlq_share"` // of the records
	Retries  float64 `json:"retries"`   // number of times a record was put into a tier after an attempt
	Attempts float64 `json:"attempts"`
	// Behind counts how often a record was parked because another record of its key waits before it.
	Behind float64 `json:"behind"`
	// Amplification is requests per record, for the provider with the most.
	Amplification float64 `json:"amplification"`

	ByReason []Share `json:"dead_by_reason"`
	ByCode   []Share `json:"dead_by_code"`
	// PeakTransientShare and PeakDLQShare are the highest in any ten minutes; the gates decide how a running pipeline
	// would react.
	PeakTransientShare float64 `json:"peak_transient_share"`
	PeakDLQShare       float64 `json:"peak_dlq_share"`

	// Pauses lists the pauses by gates, the first twenty one by one; PausedTime is the sum of all.
	Pauses      []Pause `json:"pauses"`
	PausedTimes int     `json:"paused_times"`
	PausedTime  Seconds `json:"paused_seconds"`

	// DrainTime is the time from the last arrival until no record waits; nil if that never happens.
	DrainTime *Seconds   `json:"drain_seconds"`
	Recovery  []Recovery `json:"recovery"`
	Lateness  Lateness   `json:"lateness"`
	PeakLag   float64    `json:"peak_lag"` // source records that had to wait for their first attempt

	Timelines []Timeline     `json:"timelines"`
	Tiers     []TierLoad     `json:"tiers"`
	Providers []ProviderLoad `json:"providers"`
	Series    []Point        `json:"series"`

	Expectations []Verdict `json:"expectations"`
	// NotModelled lists the settings of this pipeline that the simulation does not model.
	NotModelled []string `json:"not_modelled"`
}

// Seconds is a time that is written in seconds.
type Seconds float64

// InSeconds converts a time to seconds.
func InSeconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Std returns the time as a Duration, to the nanosecond.
func (s Seconds) Std() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// Share is a part of the dead letters.
type Share struct {
	Name    string  `json:"name"`
	Records float64 `json:"records"`
}

// Pause is a pause of the pipeline by a gate.
type Pause struct {
	At      Seconds `json:"at_seconds"`
	For     Seconds `json:"for_seconds"`
	Code    string  `json:"code"`
	Reason  string  `json:"reason"`
	Resumed bool    `json:"resumed"` // false: until the end
	// InSource and InTiers count the records that waited at the end of it.
	InSource float64 `json:"waiting_in_source"`
	InTiers  float64 `json:"waiting_in_tiers"`
}

// Recovery is how long the backlog of an outage took to drain, from the outage's end.
type Recovery struct {
	Provider string   `json:"provider"`
	From     Seconds  `json:"from_seconds"`
	To       Seconds  `json:"to_seconds"`
	Took     *Seconds `json:"took_seconds"` // nil: it never went
}

// Lateness is how long after their due times retries began.
type Lateness struct {
	P50 Seconds `json:"p50_seconds"`
	P99 Seconds `json:"p99_seconds"`
	Max Seconds `json:"max_seconds"`
}

// Timeline has the attempts of a record that always fails in one way.
type Timeline struct {
	Code   classify.Code `json:"code"`
	Reason policy.Reason `json:"ends_with"`
	Waits  []Wait        `json:"waits"`
}

// Wait is the wait before an attempt, after the failure of the previous one.
type Wait struct {
	Attempt  int     `json:"attempt"` // the attempt that follows it, from 2
	Least    Seconds `json:"least_seconds"`
	Most     Seconds `json:"most_seconds"` // with the largest jitter
	Topic    string  `json:"topic"`
	Earliest Seconds `json:"earliest_seconds"` // after the first failure
	Latest   Seconds `json:"latest_seconds"`
}

// TierLoad describes the waiting records of a tier.
type TierLoad struct {
	Topic  string  `json:"topic"`
	Delay  Seconds `json:"delay_seconds"`
	Peak   float64 `json:"peak_waiting"`
	PeakAt Seconds `json:"peak_at_seconds"`
	// Entered counts how often a record was put into it, including parking.
	Entered float64 `json:"entered"`
}

// ProviderLoad is the load of a provider.
type ProviderLoad struct {
	Name     string  `json:"name"`
	Requests float64 `json:"requests"`
	Mean     float64 `json:"mean_per_second"` // while the source flows
	Peak     float64 `json:"peak_per_second"` // of any second
	PeakAt   Seconds `json:"peak_at_seconds"`
	Limited  float64 `json:"rate_limited"` // requests that exceeded its rate limit
	Cached   float64 `json:"cached"`       // questions answered from the cache
	// Deferred counts requests that were not sent, or failed while the provider was known to be down: the next
	// provider was called, or the record deferred. They used no attempt.
	Deferred  float64 `json:"deferred"`
	Fallbacks float64 `json:"fallbacks"` // answers instead of an earlier provider
	// OpenShare is the share of the whole time in which the first instance's circuit breaker was open.
	OpenShare float64 `json:"breaker_open_share"`
}

// Point is a stretch of time: the most that waited, and the average requests per second.
type Point struct {
	At       Seconds   `json:"at_seconds"`
	Waiting  []float64 `json:"waiting"` // by tier
	Lag      float64   `json:"lag"`
	Requests []float64 `json:"requests_per_second"` // by provider
	Dead     float64   `json:"dead_lettered"`
}

// report returns the report. end is when the simulation stopped, unfinished the number of records that still waited
// then.
func (r *recorder) report(end time.Duration, unfinished float64) Report {
	r.to(end + r.slot)
	for provider := range r.requests {
		r.closeSecond(end, provider)
	}
	w := r.w
	out := r.out
	out.Unfinished, out.PausedTime = unfinished, InSeconds(r.pausedFor)
	out.Lateness = Lateness{InSeconds(r.lateness.quantile(0.5)), InSeconds(r.lateness.quantile(0.99)), InSeconds(r.lateness.quantile(1))}
	if unfinished > 0 && (len(out.Pauses) == 0 || out.Pauses[len(out.Pauses)-1].Resumed) {
		out.GaveUp = InSeconds(max(0, end-w.Duration.Std()))
	}
	out.PeakTransientShare, out.PeakDLQShare = r.shares()
	if unfinished == 0 {
		out.DrainTime = new(InSeconds(max(0, r.last-w.Duration.Std())))
	}
	for _, p := range out.Series {
		out.PeakLag = max(out.PeakLag, p.Lag)
	}
	for i := range out.Providers {
		p := &out.Providers[i]
		p.Mean, p.OpenShare = p.Requests/w.Duration.Std().Seconds(), r.requests[i].open.Seconds()/max(end.Seconds(), 1e-9)
		if out.Records > 0 {
			out.Amplification = max(out.Amplification, p.Requests/out.Records)
		}
	}
	if out.Records > 0 {
		out.DLQShare = out.DeadLettered / out.Records
	}
	out.ByReason, out.ByCode = shares(r.byReason), shares(r.byCode)
	out.Timelines = timelines(w)
	out.Expectations = w.Expect.judge(out)
	return out
}

// shares lists amounts, the largest first.
func shares[K ~string](amounts map[K]float64) []Share {
	out := []Share{}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		out = append(out, Share{string(name), amounts[name]})
	}
	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.Records, a.Records) })
	return out
}
