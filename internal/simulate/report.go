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
	// Superseded is what was closed because a newer record of its key had taken effect.
	Superseded float64 `json:"superseded"`
	// Unfinished is what still waited when the simulation gave up (see GiveUp); 0 when all is drained.
	Unfinished float64 `json:"unfinished"`
	// GaveUp is how long after the last arrival that was; 0 when all is drained, or when nobody resumes a held pipeline.
	GaveUp   Seconds `json:"gave_up_seconds"`
	DLQShare float64 `json:"dlq_share"` // of the records
	Retries  float64 `json:"retries"`   // times that a record was put into a tier after an attempt
	Attempts float64 `json:"attempts"`
	// Behind is how often a record was put back because one of its key waits before it.
	Behind float64 `json:"behind"`
	// Amplification is requests per record, of the provider with the most.
	Amplification float64 `json:"amplification"`

	ByReason []Share `json:"dead_by_reason"`
	ByCode   []Share `json:"dead_by_code"`
	// PeakTransientShare and PeakDLQShare are the highest in any ten minutes; what they would do to a running pipeline, the
	// gates of its tolerance say.
	PeakTransientShare float64 `json:"peak_transient_share"`
	PeakDLQShare       float64 `json:"peak_dlq_share"`

	// Holds tells when gates held the pipeline, the first twenty of them one by one; HeldTime is all of their time.
	Holds     []Hold  `json:"holds"`
	HeldTimes int     `json:"held_times"`
	HeldTime  Seconds `json:"held_seconds"`

	// DrainTime is from the last arrival until nothing waits; nil when that did not happen.
	DrainTime *Seconds   `json:"drain_seconds"`
	Recovery  []Recovery `json:"recovery"`
	Lateness  Lateness   `json:"lateness"`
	PeakLag   float64    `json:"peak_lag"` // records of the source that had to wait for their first attempt

	Timelines []Timeline     `json:"timelines"`
	Tiers     []TierLoad     `json:"tiers"`
	Providers []ProviderLoad `json:"providers"`
	Series    []Point        `json:"series"`

	Expectations []Verdict `json:"expectations"`
	// NotModelled says what of this pipeline the simulation does not show.
	NotModelled []string `json:"not_modelled"`
}

// Seconds is a time that is written in seconds.
type Seconds float64

// InSeconds gives a time in seconds.
func InSeconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Std gives the time as a Duration, to the nanosecond.
func (s Seconds) Std() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// Share is a part of the dead letters.
type Share struct {
	Name    string  `json:"name"`
	Records float64 `json:"records"`
}

// Hold is a time at which a gate held the pipeline.
type Hold struct {
	At      Seconds `json:"at_seconds"`
	For     Seconds `json:"for_seconds"`
	Code    string  `json:"code"`
	Reason  string  `json:"reason"`
	Resumed bool    `json:"resumed"` // false: it was held to the end
	// InSource and InTiers are how many records waited at the end of it.
	InSource float64 `json:"waiting_in_source"`
	InTiers  float64 `json:"waiting_in_tiers"`
}

// Recovery is how long the backlog of an outage took to go, counted from the outage's end.
type Recovery struct {
	Provider string   `json:"provider"`
	From     Seconds  `json:"from_seconds"`
	To       Seconds  `json:"to_seconds"`
	Took     *Seconds `json:"took_seconds"` // nil: it never went
}

// Lateness is how long after their due time retries began.
type Lateness struct {
	P50 Seconds `json:"p50_seconds"`
	P99 Seconds `json:"p99_seconds"`
	Max Seconds `json:"max_seconds"`
}

// Timeline is when a record is tried that always fails in one way.
type Timeline struct {
	Code   classify.Code `json:"code"`
	Reason policy.Reason `json:"ends_with"`
	Waits  []Wait        `json:"waits"`
}

// Wait is the wait before an attempt, after the failure of the one before it.
type Wait struct {
	Attempt  int     `json:"attempt"` // that comes after it, from 2
	Least    Seconds `json:"least_seconds"`
	Most     Seconds `json:"most_seconds"` // with all of the jitter
	Topic    string  `json:"topic"`
	Earliest Seconds `json:"earliest_seconds"` // after the first failure
	Latest   Seconds `json:"latest_seconds"`
}

// TierLoad is what waits in a tier.
type TierLoad struct {
	Topic  string  `json:"topic"`
	Delay  Seconds `json:"delay_seconds"`
	Peak   float64 `json:"peak_waiting"`
	PeakAt Seconds `json:"peak_at_seconds"`
	// Entered is how often a record was put into it, parkings included.
	Entered float64 `json:"entered"`
}

// ProviderLoad is what a provider gets.
type ProviderLoad struct {
	Name     string  `json:"name"`
	Requests float64 `json:"requests"`
	Mean     float64 `json:"mean_per_second"` // while the source flows
	Peak     float64 `json:"peak_per_second"` // of any second
	PeakAt   Seconds `json:"peak_at_seconds"`
	Limited  float64 `json:"rate_limited"` // requests that met its rate limit
	Cached   float64 `json:"cached"`       // questions answered from memory
	// Held is how many questions were not sent, or failed when the provider was known to be down: the next provider was asked, or
	// the record held. It spent no attempt.
	Held      float64 `json:"held"`
	Fallbacks float64 `json:"fallbacks"` // answers in place of an earlier provider
	// OpenShare is the share of the whole time at which the circuit breaker of the first instance held everything.
	OpenShare float64 `json:"breaker_open_share"`
}

// Point is a stretch of time: the most that waited, and requests per second on average.
type Point struct {
	At       Seconds   `json:"at_seconds"`
	Waiting  []float64 `json:"waiting"` // by tier
	Lag      float64   `json:"lag"`
	Requests []float64 `json:"requests_per_second"` // by provider
	Dead     float64   `json:"dead_lettered"`
}

// report sums up. end is when the simulation stopped, unfinished what still waited then.
func (r *recorder) report(end time.Duration, unfinished float64) Report {
	r.to(end + r.slot)
	w := r.w
	out := Report{
		Pipeline: w.sys.Pipeline, Rate: w.Rate, Duration: InSeconds(w.Duration.Std()), Instances: w.Instances,
		Seed: w.Seed, Records: r.total.arrived, Delivered: r.total.delivered, DeadLettered: r.total.dead,
		Superseded: r.total.superseded, Behind: r.total.behind, Unfinished: unfinished,
		Holds: append([]Hold{}, r.holds...), HeldTimes: r.heldTimes, HeldTime: InSeconds(r.heldFor), NotModelled: w.notModelled(), Retries: r.total.retries, Attempts: r.total.attempts, Recovery: r.outages, Series: r.series,
		Lateness: Lateness{InSeconds(r.lateness.quantile(0.5)), InSeconds(r.lateness.quantile(0.99)), InSeconds(r.lateness.quantile(1))},
	}
	if r.total.arrived > 0 {
		out.DLQShare = r.total.dead / r.total.arrived
	}
	if unfinished > 0 && (len(r.holds) == 0 || r.holds[len(r.holds)-1].Resumed) {
		out.GaveUp = InSeconds(max(0, end-w.Duration.Std()))
	}
	out.PeakTransientShare, out.PeakDLQShare = r.shares()
	if unfinished == 0 {
		out.DrainTime = new(InSeconds(max(0, r.last-w.Duration.Std())))
	}
	for _, p := range r.series {
		out.PeakLag = max(out.PeakLag, p.Lag)
	}
	for i, t := range w.sys.Tiers {
		out.Tiers = append(out.Tiers, TierLoad{t.Topic, InSeconds(t.Delay), r.peaks[i].amount, InSeconds(r.peaks[i].at), r.peaks[i].entered})
	}
	for i := range w.providers {
		c := &r.requests[i]
		c.close(end)
		out.Providers = append(out.Providers, ProviderLoad{
			Name: w.providers[i].Name, Cached: c.cached, Held: c.held, Fallbacks: c.fallbacks,
			Requests: c.total, Mean: c.total / w.Duration.Std().Seconds(), Peak: c.peak,
			PeakAt: InSeconds(c.peakAt), Limited: c.refused, OpenShare: c.open.Seconds() / max(end.Seconds(), 1e-9),
		})
		if r.total.arrived > 0 {
			out.Amplification = max(out.Amplification, c.total/r.total.arrived)
		}
	}
	out.ByReason, out.ByCode = shares(r.total.byReason), shares(r.total.byCode)
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
