package demo

import (
	"io"
	"os"
	"time"
)

// Options are the flags of the command line, and the story.
type Options struct {
	// Events is the number of events to produce; 0 means RealEvents. A larger number repeats the real events as newer
	// versions.
	Events int
	// Exit ends the demo after the second pass. Without it, broker, metrics and consumer stay until the context ends.
	Exit bool
	// Stdout gets the report; nil discards.
	Stdout io.Writer
	// Stderr gets the banner and the progress; nil discards. It must be safe for concurrent use.
	Stderr io.Writer
	// Terminal is true if Stderr is a terminal: a person reads it, so there is a pause before each act.
	Terminal bool
	// KafkaPort is the broker's port on 127.0.0.1; 0 takes a free one.
	KafkaPort int
	// MetricsListen is the host:port of /metrics, /healthz and /readyz; "" turns them off.
	MetricsListen string
	// ConsoleListen is the loopback host:port of the web console; "" is UsualConsole, or a free port if another program listens there.
	ConsoleListen string
	// Env looks up environment variables; nil means os.Getenv.
	Env func(string) string
	// Story is the course of events; the zero Story is DefaultStory.
	Story Story
}

// Story is the course of events and its timing. Tests play a shorter one.
type Story struct {
	// Pace sets when events are produced.
	Pace Pace
	// Script sets how the place-name service misbehaves.
	Script Script
	// Pause is the time between two acts on a terminal.
	Pause time.Duration
	// Tiers and Jitter replace those of the pipeline file; nil keeps them.
	Tiers  []time.Duration
	Jitter *time.Duration
}

// DefaultStory fits the tiers 2 s, 8 s and 60 s. Most events arrive in a burst before the outage. A record that fails
// in the last seconds of the outage succeeds in the first tier, one that fails in the middle of it in the second, and
// one that fails in its first seconds waits a minute. The run lasts about 80 s.
func DefaultStory() Story {
	return Story{
		Pace:  Pace{Burst: 3 * time.Second, Share: 0.6, Spread: 18 * time.Second},
		Pause: 5 * time.Second,
		Script: Script{
			Seed: 7946, Unavailable: 0.04, TooMany: 0.01, Slow: 0.03, Stuck: 0.003,
			RetryAfter: 3 * time.Second, SlowFor: 400 * time.Millisecond, StuckFor: 5 * time.Second,
			OutageAfter: 3 * time.Second, OutageFor: 15 * time.Second,
		},
	}
}

func (o Options) withDefaults() Options {
	if o.Events == 0 {
		o.Events = RealEvents
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Story.Script == (Script{}) {
		o.Story = DefaultStory()
	}
	return o
}

// Pace is when events are produced: a first share of them in a burst, the rest evenly until the end.
type Pace struct {
	// Burst is the duration of the burst, and Share the part of the events, from 0 to 1, in it.
	Burst time.Duration
	Share float64
	// Spread is the time from the first event to the last. 0 produces all at once.
	Spread time.Duration
}

// at is when event i of n is due, from 0 to Spread, counted from the first.
func (p Pace) at(i, n int) time.Duration {
	if n <= 1 || i <= 0 {
		return 0
	}
	part := float64(i) / float64(n-1)
	if part < p.Share {
		return time.Duration(float64(p.Burst) * part / p.Share)
	}
	rest := (part - p.Share) / max(1-p.Share, 1e-9)
	return min(p.Burst+time.Duration(float64(p.Spread-p.Burst)*rest), p.Spread)
}
