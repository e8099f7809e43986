package simulate

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// recorder observes the events, in the order of time, and fills the report. Amounts are records or requests.
type recorder struct {
	w           *world
	out         Report
	slot        time.Duration // length of a point of the series
	point       Point         // the current one
	begun       time.Duration // start of the current one
	waiting     []float64     // by tier, now
	lag         float64       // source records that are late, now
	byReason    map[policy.Reason]float64
	byCode      map[classify.Code]float64
	requests    []load // by provider
	lateness    delays
	minutes     []minute
	unsettled   []int         // outages whose backlog is not drained yet, as indexes into out.Recovery
	last        time.Duration // last time at which something was unfinished
	paused      bool          // a gate has paused the pipeline
	pausedSince time.Duration
	pausedFor   time.Duration // sum of all pauses
}

// load measures the requests of a provider.
type load struct {
	begun time.Duration // start of the current second
	count float64       // requests in it
	open  time.Duration // time its breaker was open
}

// minute has the counts for the shares of a sliding window.
type minute struct{ attempts, transient, finished, dead float64 }

const (
	rateWindow  = time.Second
	shareWindow = 10  // minutes, as in S1-8
	leastShared = 100 // attempts or records: a share of fewer means nothing
)

// newRecorder returns a recorder with a point for every slot.
func newRecorder(w *world, slot time.Duration) *recorder {
	r := &recorder{
		w: w, slot: slot, waiting: make([]float64, len(w.sys.Tiers)), requests: make([]load, len(w.providers)), lateness: map[time.Duration]float64{},
		byReason: map[policy.Reason]float64{}, byCode: map[classify.Code]float64{},
	}
	r.out = Report{
		Pipeline: w.sys.Pipeline, Rate: w.Rate, Duration: InSeconds(w.Duration.Std()), Instances: w.Instances, Seed: w.Seed, Pauses: []Pause{},
		NotModelled: w.notModelled(),
	}
	for _, t := range w.sys.Tiers {
		r.out.Tiers = append(r.out.Tiers, TierLoad{Topic: t.Topic, Delay: InSeconds(t.Delay)})
	}
	for i := range w.providers {
		r.out.Providers = append(r.out.Providers, ProviderLoad{Name: w.providers[i].Name})
	}
	for _, p := range w.Providers {
		for _, o := range p.Outages {
			r.unsettled = append(r.unsettled, len(r.out.Recovery))
			r.out.Recovery = append(r.out.Recovery, Recovery{Provider: p.Name, From: InSeconds(o.From.Std()), To: InSeconds(o.end())})
		}
	}
	r.begin(0)
	return r
}

func (r *recorder) begin(at time.Duration) {
	r.begun = at
	r.point = Point{At: InSeconds(at), Waiting: slices.Clone(r.waiting), Lag: r.lag, Requests: make([]float64, len(r.w.providers))}
}

// to advances the time and closes the points that are over.
func (r *recorder) to(now time.Duration) {
	for now >= r.begun+r.slot {
		for i := range r.point.Requests {
			r.point.Requests[i] /= r.slot.Seconds()
		}
		r.out.Series = append(r.out.Series, r.point)
		r.begin(r.begun + r.slot)
		if len(r.out.Series) == mostPoints {
			r.halve()
		}
	}
}

// halve merges pairs of points, for a drain that is much longer than the run.
func (r *recorder) halve() {
	series := r.out.Series
	for i := range len(series) / 2 {
		p, o := series[2*i], series[2*i+1]
		for tier := range p.Waiting {
			p.Waiting[tier] = max(p.Waiting[tier], o.Waiting[tier])
		}
		for provider := range p.Requests {
			p.Requests[provider] = (p.Requests[provider] + o.Requests[provider]) / 2
		}
		p.Lag, p.Dead = max(p.Lag, o.Lag), p.Dead+o.Dead
		series[i] = p
	}
	r.out.Series = slices.Delete(series, len(series)/2, len(series))
	r.slot *= 2
}

func (r *recorder) minute(now time.Duration) *minute {
	i := int(now / time.Minute)
	for len(r.minutes) <= i {
		r.minutes = append(r.minutes, minute{})
	}
	return &r.minutes[i]
}

// wait changes the amount that waits in a tier.
func (r *recorder) wait(now time.Duration, tier int, amount float64) {
	if tier == source {
		return
	}
	r.waiting[tier] = max(0, r.waiting[tier]+amount)
	r.point.Waiting[tier] = max(r.point.Waiting[tier], r.waiting[tier])
	t := &r.out.Tiers[tier]
	t.Entered += max(0, amount)
	if r.waiting[tier] > t.Peak {
		t.Peak, t.PeakAt = r.waiting[tier], InSeconds(now)
	}
}

// late records how long after its due time an attempt began.
func (r *recorder) late(by time.Duration) { r.lateness.add(by) }

// request counts a request to a provider.
func (r *recorder) request(now time.Duration, provider int) {
	r.point.Requests[provider]++
	r.out.Providers[provider].Requests++
	if now >= r.requests[provider].begun+rateWindow {
		r.closeSecond(now, provider)
	}
	r.requests[provider].count++
}

// closeSecond ends the current second of a provider; the next one starts at a whole second.
func (r *recorder) closeSecond(now time.Duration, provider int) {
	c, p := &r.requests[provider], &r.out.Providers[provider]
	if c.count > p.Peak {
		p.Peak, p.PeakAt = c.count, InSeconds(c.begun)
	}
	c.begun, c.count = now.Truncate(rateWindow), 0
}

// failed counts a failed attempt and the decision about it.
func (r *recorder) failed(now time.Duration, f classify.Failure, outcome policy.Outcome, reason policy.Reason) {
	r.attempt(now)
	if f.Transient() {
		r.minute(now).transient++
	}
	if outcome == policy.OutcomeRetried {
		r.out.Retries++
		return
	}
	r.out.DeadLettered++
	r.byReason[reason]++
	r.byCode[f.Code]++
	r.point.Dead++
	m := r.minute(now)
	m.finished++
	m.dead++
}

// delivered counts a successful attempt.
func (r *recorder) delivered(now time.Duration) {
	r.attempt(now)
	r.out.Delivered++
	r.minute(now).finished++
}

// superseded counts an attempt whose record a newer one has overtaken.
func (r *recorder) superseded(now time.Duration) {
	r.attempt(now)
	r.out.Superseded++
	r.minute(now).finished++
}

func (r *recorder) attempt(now time.Duration) {
	r.out.Attempts++
	r.minute(now).attempts++
}

// behind records how many attempts are overdue: source records and due retries. An outage is over once they are fewer
// than the arrivals of a second.
func (r *recorder) behind(now time.Duration, source, due float64) {
	r.lag = source
	r.point.Lag = max(r.point.Lag, source)
	r.unsettled = slices.DeleteFunc(r.unsettled, func(i int) bool {
		o := &r.out.Recovery[i]
		if now < o.To.Std() || source+due > max(1, r.w.Rate) {
			return false
		}
		o.Took = new(InSeconds(now - o.To.Std()))
		return true
	})
}

// mostHolds is how many pauses are listed one by one.
const mostPauses = 20

// stood records that a gate pauses the pipeline.
func (r *recorder) stood(now time.Duration, code, why string) {
	r.paused, r.pausedSince = true, now
	r.out.PausedTimes++
	if r.out.PausedTimes <= mostPauses {
		r.out.Pauses = append(r.out.Pauses, Pause{At: InSeconds(now), Code: code, Reason: why})
	}
}

// released records that the pipeline resumes, or that the simulation ends while it is paused, and how many records
// have waited meanwhile.
func (r *recorder) released(now time.Duration, resumed bool, source float64) {
	if !r.paused {
		return
	}
	r.paused = false
	r.pausedFor += now - r.pausedSince
	if r.out.PausedTimes > mostPauses {
		return
	}
	h := &r.out.Pauses[len(r.out.Pauses)-1]
	h.For, h.Resumed, h.InSource = InSeconds(now-r.pausedSince), resumed, source
	for _, n := range r.waiting {
		h.InTiers += n
	}
}

// shares returns the highest shares of transient failures and of dead letters in any ten minutes.
func (r *recorder) shares() (transient, dead float64) {
	share := func(part, whole float64) float64 {
		if whole < leastShared {
			return 0
		}
		return part / whole
	}
	for i := range r.minutes {
		var sum minute
		for _, m := range r.minutes[max(0, i-shareWindow+1) : i+1] {
			sum.attempts, sum.transient = sum.attempts+m.attempts, sum.transient+m.transient
			sum.finished, sum.dead = sum.finished+m.finished, sum.dead+m.dead
		}
		transient = math.Max(transient, share(sum.transient, sum.attempts))
		dead = math.Max(dead, share(sum.dead, sum.finished))
	}
	return transient, dead
}

// delays counts attempts by how late they began, in whole milliseconds.
type delays map[time.Duration]float64

func (d delays) add(by time.Duration) { d[max(by, 0).Truncate(time.Millisecond)]++ }

// quantile returns the lateness that a share of the attempts does not exceed.
func (d delays) quantile(share float64) time.Duration {
	all, sum := 0.0, 0.0
	for _, amount := range d {
		all += amount
	}
	var at time.Duration
	for _, at = range slices.Sorted(maps.Keys(d)) {
		if sum += d[at]; sum >= share*all {
			break
		}
	}
	return at
}

// maxWaits limits a timeline, whatever the policy says.
const maxWaits = 1000

// timelines returns the waits of a record that always fails in the same way, for every transient failure of the
// scenario.
func timelines(w *world) []Timeline {
	out := []Timeline{}
	for _, r := range w.replies {
		if !r.failure.Transient() || slices.ContainsFunc(out, func(t Timeline) bool { return t.Code == r.failure.Code }) {
			continue
		}
		out = append(out, timeline(w.sys, r.failure))
	}
	return out
}

func timeline(sys System, f classify.Failure) Timeline {
	t := Timeline{Code: f.Code, Waits: []Wait{}}
	var earliest, latest, shortest, longest time.Duration
	for n := 1; n <= maxWaits; n++ {
		fastest := sys.Decide(policy.Tried{Attempts: n, LastDelay: shortest}, f, start(), func() float64 { return 0 })
		slowest := sys.Decide(policy.Tried{Attempts: n, LastDelay: longest}, f, start(), func() float64 { return 1 - 1e-9 })
		if fastest.Outcome != policy.OutcomeRetried {
			t.Reason = fastest.Reason
			return t
		}
		shortest, longest = fastest.Due.Sub(start()), slowest.Due.Sub(start())
		earliest, latest = earliest+shortest, latest+longest
		t.Waits = append(t.Waits, Wait{
			Attempt: n + 1, Least: InSeconds(shortest), Most: InSeconds(longest), Topic: sys.Tiers[fastest.Tier].Topic,
			Earliest: InSeconds(earliest), Latest: InSeconds(latest),
		})
	}
	return t
}
