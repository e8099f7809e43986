package demo

import (
	"io"
	"os"
	"time"
)

// Options are what the command line says, and the story that is played.
type Options struct {
	// Events is how many events are produced; 0 means RealEvents. Beyond that number the real ones
	// come again as newer versions.
	Events int
	// Exit leaves after the second balance. Without it, broker, metrics and consumer stay until the
	// context ends.
	Exit bool
	// Summary gets one JSON object (architecture, section 9) over both passes; nil: nobody does.
	Summary io.Writer
	// Stdout gets the report, unless Summary is the same writer: then Stderr gets it, so that Stdout
	// has nothing but JSON. Stderr gets the banner and the progress. nil discards.
	Stdout, Stderr io.Writer
	// Terminal says that Stderr is a terminal: progress is then redrawn in place.
	Terminal bool
	// KafkaPort is the broker's port on 127.0.0.1 and PlacesPort that of the place-name service; 0 takes a free one.
	KafkaPort, PlacesPort int
	// MetricsListen is the host:port of /metrics, /healthz and /readyz; "" turns them off.
	MetricsListen string
	// DataDir keeps the broker's data and the pipeline file; it must not hold those of an earlier
	// demo. "" keeps the data in memory and the file in a temporary folder that goes at the end.
	DataDir string
	// Env looks up environment variables; nil means os.Getenv.
	Env func(string) string
	// Story is what happens; the zero Story is DefaultStory.
	Story Story
}

// PlacesPortFlag is the flag that sets Options.PlacesPort, as messages name it.
const PlacesPortFlag = "--places-port"

// Story is the timing of the demo. Tests play a shorter one.
type Story struct {
	// Pace is when the events come.
	Pace Pace
	// Script is how the place-name service misbehaves.
	Script Script
	// Tiers and Jitter replace those of the pipeline file; nil leaves them.
	Tiers  []time.Duration
	Jitter *time.Duration
}

// DefaultStory fits the tiers 2 s, 8 s and 60 s. Most events come in a burst before the outage. What
// fails in its last seconds comes through in the first tier, what fails in its middle in the
// second; what failed in the first seconds waits the minute, so that the run lasts about 80 s.
func DefaultStory() Story {
	return Story{
		Pace: Pace{Burst: 3 * time.Second, Share: 0.6, Spread: 18 * time.Second},
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
	if o.Story.Pace == (Pace{}) && o.Story.Script == (Script{}) {
		o.Story.Pace, o.Story.Script = DefaultStory().Pace, DefaultStory().Script
	}
	return o
}

// report is where the screens go.
func (o Options) report() io.Writer {
	if o.Summary != nil && o.Summary == o.Stdout {
		return o.Stderr
	}
	return o.Stdout
}
