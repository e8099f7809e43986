//go:build unix

package worker

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Env is the variable that contains a worker's settings, as JSON. A test binary with this variable only runs the worker.
const Env = "CHAOS_WORKER"

// Settings are the settings of a worker.
type Settings struct {
	Brokers        []string
	Instance       string
	Source, Output string
	Journal, Group string
	Order          retrytopics.Order
	Delays         []time.Duration
	Attempts       int
	Dedupe         time.Duration // window; 0 turns the ledger off
	Session        time.Duration // group session timeout
	Transaction    time.Duration // transaction timeout
	HeldBytes      int           // approximate limit of unfinished records; 0 for the engine's default
}

// Text encodes the settings for Env.
func (s Settings) Text() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of numbers and text
	}
	return string(text)
}

func parse(text string) (Settings, error) {
	var s Settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("%s: %w", Env, err)
	}
	return s, nil
}

// Tiers returns the tiers of the delays.
func (s Settings) Tiers() []policy.Tier {
	tiers := make([]policy.Tier, 0, len(s.Delays))
	for _, d := range s.Delays {
		tiers = append(tiers, policy.Tier{Topic: policy.TierTopic(s.Source+".retry-", d), Delay: d})
	}
	return tiers
}

// Config returns the engine's configuration without the handler and the journal of a running worker.
func (s Settings) Config() retrytopics.Config {
	return retrytopics.Config{
		Brokers: s.Brokers, Source: s.Source, Group: s.Group,
		Membership: retrytopics.Membership{Instance: s.Instance, Session: s.Session},
		Origin:     retrytopics.Origin{Pipeline: s.Source},
		Retries:    retrytopics.Retries{Tiers: s.Tiers(), Policy: policy.Policy{MaxAttempts: s.Attempts, Jitter: 200 * time.Millisecond}},
		Ordering:   retrytopics.Ordering{Mode: s.Order},
		Dedupe:     retrytopics.Dedupe{Window: s.Dedupe},
		Journal:    retrytopics.Journal{KeepPartition: []string{s.Journal}},
		Timing:     retrytopics.Timing{Transaction: s.Transaction, Shutdown: 5 * time.Second},
		Limits:     retrytopics.Limits{HeldBytes: s.HeldBytes},
		Client:     retrytopics.Client{Options: []kgo.Opt{kgo.HeartbeatInterval(s.Session / 5)}},
	}
}
