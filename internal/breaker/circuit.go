package breaker

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// ProbePoll is how long to wait while another request probes, because the end of that request is unknown.
const ProbePoll = 100 * time.Millisecond

// Outcome is the effect of a finished request on the breaker of its service.
type Outcome int

// The outcomes.
const (
	Ignored      Outcome = iota // none: the request was canceled
	Success                     // the service is up, whatever it answered
	Failure                     // the service is down, or hardly up
	Inconclusive                // it answered, but with an answer that must not close an open breaker: this request may be the cause
)

// Circuit is the state machine of one circuit breaker. Its owner calls one method at a time. Times count from any fixed
// moment and never go back.
type Circuit struct {
	rule      config.Breaker
	window    parts // of the recent requests, while closed
	latest    ring  // the same, if the rule uses only the latest outcomes
	until     time.Duration
	open      bool // also while it probes
	probing   bool
	successes int // consecutive successful probes
	opened    int
}

// NewCircuit returns a closed breaker.
func NewCircuit(rule config.Breaker) *Circuit {
	return &Circuit{rule: rule, latest: ring{size: rule.Among}}
}

// Pass is the permission for one request. It must be returned with [Circuit.Leave].
type Pass struct {
	// Probe means that the request decides whether the breaker closes.
	Probe  bool
	opened int
}

// Defers reports whether nothing may be sent now, and for how long.
func (b *Circuit) Defers(now time.Duration) (wait time.Duration, defers bool) {
	switch {
	case !b.open:
		return 0, false
	case now < b.until:
		return b.until - now, true
	case b.probing:
		return ProbePoll, true
	default:
		return 0, false
	}
}

// Enter begins a request that Defers lets through.
func (b *Circuit) Enter() Pass {
	b.probing = b.open
	return Pass{Probe: b.open, opened: b.opened}
}

// Leave ends a request. It reports whether its failure is already known, because the service is known to be down. A
// request that began before the breaker opened does not count.
func (b *Circuit) Leave(now time.Duration, p Pass, end Outcome) (known bool) {
	if p.Probe {
		b.probing = false
	}
	if p.opened == b.opened && end != Ignored {
		b.record(now, end)
	}
	return end == Failure && p.opened != b.opened
}

// record counts an outcome.
func (b *Circuit) record(now time.Duration, end Outcome) {
	if b.open {
		b.probed(now, end != Success)
		return
	}
	failed := end == Failure
	if b.rule.Among > 0 {
		b.latest.add(now, failed)
	} else {
		b.window.add(b.rule.Window.Std(), now, failed)
	}
	if failed && b.exceeded(now) {
		b.Trip(now)
	}
}

// probed counts the outcome of a probe.
func (b *Circuit) probed(now time.Duration, failed bool) {
	switch {
	case failed:
		b.Trip(now)
	case b.successes+1 >= b.rule.Successes:
		b.open, b.successes = false, 0
		b.forget()
	default:
		b.successes++
	}
}

// exceeded reports whether the counts open the breaker: enough failures within the window and, if the rule has a share,
// a large enough share of the requests.
func (b *Circuit) exceeded(now time.Duration) bool {
	requests, failures := b.counted(now)
	return failures >= b.rule.Failures && float64(failures) >= b.rule.FailureRate*float64(requests)
}

// counted returns the requests that the rule considers now, and how many of them failed.
func (b *Circuit) counted(now time.Duration) (requests, failures int) {
	if b.rule.Among > 0 {
		return b.latest.since(now - b.rule.Window.Std())
	}
	return b.window.sum()
}

// Trip opens the breaker, or starts the next cooldown.
func (b *Circuit) Trip(now time.Duration) {
	b.open, b.probing, b.until, b.successes = true, false, now+b.rule.Cooldown.Std(), 0
	b.opened++
	b.forget()
}

func (b *Circuit) forget() { b.window, b.latest = parts{}, ring{size: b.rule.Among} }

// Retune replaces the rule of a breaker. An open breaker stays open until its cooldown ends; a closed one counts from
// zero.
func (b *Circuit) Retune(rule config.Breaker) {
	b.rule = rule
	b.forget()
}

// IsOpen reports whether the breaker defers requests or probes.
func (b *Circuit) IsOpen() bool { return b.open }

// HalfOpen reports whether single requests probe, or have begun to.
func (b *Circuit) HalfOpen() bool { return b.open && (b.probing || b.successes > 0) }

// Until returns when an open breaker may be probed.
func (b *Circuit) Until() time.Duration { return b.until }

// Opened returns how often the breaker opened, including failed probes.
func (b *Circuit) Opened() int { return b.opened }

// pieces is the number of parts of a window; it slides by one part.
const pieces = 10

// parts counts requests and failures in the parts of a sliding window.
type parts struct {
	latest             int64 // number of the current part
	requests, failures [pieces]int
}

// add counts a request in the part of a moment, and drops expired parts.
func (p *parts) add(window, now time.Duration, failed bool) {
	at := int64(now / max(window/pieces, 1))
	for n := min(at-p.latest, pieces); n > 0; n-- {
		slot := (at - n + 1) % pieces
		p.requests[slot], p.failures[slot] = 0, 0
	}
	p.latest = max(p.latest, at)
	p.requests[p.latest%pieces]++
	if failed {
		p.failures[p.latest%pieces]++
	}
}

func (p *parts) sum() (requests, failures int) {
	for i := range pieces {
		requests, failures = requests+p.requests[i], failures+p.failures[i]
	}
	return requests, failures
}

// ring keeps the latest outcomes one by one.
type ring struct {
	size  int
	next  int
	items []ended
}

// ended is one request.
type ended struct {
	at     time.Duration
	failed bool
}

func (r *ring) add(at time.Duration, failed bool) {
	if len(r.items) < r.size {
		r.items = append(r.items, ended{at, failed})
		return
	}
	r.items[r.next] = ended{at, failed}
	r.next = (r.next + 1) % r.size
}

// since counts the outcomes after a moment.
func (r *ring) since(from time.Duration) (requests, failures int) {
	for _, o := range r.items {
		if o.at <= from {
			continue
		}
		requests++
		if o.failed {
			failures++
		}
	}
	return requests, failures
}
