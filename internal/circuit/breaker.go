package circuit

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// ProbePoll is how long to wait while another request probes: when that one ends is not known.
const ProbePoll = 100 * time.Millisecond

// End is what the outcome of a request says about its service.
type End int

// The ends.
const (
	Silent   End = iota // nothing: the caller gave up
	Answered            // it works, whatever it answered
	Failed              // it is down, or hardly up
	Doubtful            // it answered, but not so that an open breaker could close: perhaps it is this request alone
)

// Breaker is one breaker. Its methods must not be called side by side. Times are counted from any fixed moment, and never go
// back.
type Breaker struct {
	rule      config.Breaker
	window    parts // of the requests lately, while closed
	latest    ring  // the same, where the rule asks for the latest ones alone
	until     time.Duration
	open      bool // also while it probes
	probing   bool
	successes int // of probes, one after another
	opened    int
}

// New makes a breaker that is closed.
func New(rule config.Breaker) *Breaker {
	return &Breaker{rule: rule, latest: ring{size: rule.Among}}
}

// Pass allows one request. It has to be given back with [Breaker.Leave].
type Pass struct {
	// Probe says that the request decides whether the breaker closes.
	Probe  bool
	opened int
}

// Held says whether nothing may be sent now, and how long.
func (b *Breaker) Held(now time.Duration) (wait time.Duration, held bool) {
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

// Enter begins a request that Held allows.
func (b *Breaker) Enter() Pass {
	b.probing = b.open
	return Pass{Probe: b.open, opened: b.opened}
}

// Leave ends a request. It says whether its failure is no news: it is known by now that the service is down. A request that
// began before the breaker opened has no say.
func (b *Breaker) Leave(now time.Duration, p Pass, end End) (known bool) {
	if p.Probe {
		b.probing = false
	}
	if p.opened == b.opened && end != Silent {
		b.record(now, end)
	}
	return end == Failed && p.opened != b.opened
}

// record counts an outcome.
func (b *Breaker) record(now time.Duration, end End) {
	if b.open {
		b.probed(now, end != Answered)
		return
	}
	failed := end == Failed
	if b.rule.Among > 0 {
		b.latest.add(now, failed)
	} else {
		failures := 0.0
		if failed {
			failures = 1
		}
		b.window.add(b.rule.Window.Std(), now, 1, failures)
	}
	if failed && b.Exceeded(now) {
		b.Trip(now)
	}
}

// probed takes the outcome of a probe.
func (b *Breaker) probed(now time.Duration, failed bool) {
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

// Exceeded says whether what was counted opens the breaker: so many failures within the window, and where the rule has a share,
// so large a share of the requests.
func (b *Breaker) Exceeded(now time.Duration) bool {
	requests, failures := b.Counted(now)
	return failures >= float64(b.rule.Failures) && failures >= b.rule.FailureRate*requests
}

// Counted gives the requests that the rule looks at now, and how many of them failed.
func (b *Breaker) Counted(now time.Duration) (requests, failures float64) {
	if b.rule.Among > 0 {
		return b.latest.since(now - b.rule.Window.Std())
	}
	return b.window.sum()
}

// Count notes many requests of a closed breaker at once, for models of many. It does not open the breaker, and is not for a
// rule that looks at the latest requests one by one.
func (b *Breaker) Count(now time.Duration, requests, failures float64) {
	b.window.add(b.rule.Window.Std(), now, requests, failures)
}

// Trip opens the breaker, or begins the next cooldown.
func (b *Breaker) Trip(now time.Duration) {
	b.open, b.probing, b.until, b.successes = true, false, now+b.rule.Cooldown.Std(), 0
	b.opened++
	b.forget()
}

func (b *Breaker) forget() { b.window, b.latest = parts{}, ring{size: b.rule.Among} }

// Retune gives a breaker another rule. Open stays open, until its cooldown is over; a closed one counts from the start.
func (b *Breaker) Retune(rule config.Breaker) {
	b.rule = rule
	b.forget()
}

// Rule is what the breaker goes by.
func (b *Breaker) Rule() config.Breaker { return b.rule }

// IsOpen says whether it holds requests, or probes.
func (b *Breaker) IsOpen() bool { return b.open }

// HalfOpen says whether single requests probe, or have begun to.
func (b *Breaker) HalfOpen() bool { return b.open && (b.probing || b.successes > 0) }

// Until is when an open breaker may be probed.
func (b *Breaker) Until() time.Duration { return b.until }

// Opened is how often it opened, failed probes included.
func (b *Breaker) Opened() int { return b.opened }
