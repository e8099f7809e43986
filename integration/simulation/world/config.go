package world

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// config returns the configuration of a process. The mutex of its instance is held.
func (in *Instance) config(p *process) retrytopics.Config {
	e, c := in.w.Plan.Engine, in.change
	h := &handler{in: in, process: p}
	cfg := retrytopics.Config{
		Origin:  retrytopics.Origin{Proven: retrytopics.TrustProducers}, // nobody forges replays here, and the operator of the world has no key
		Brokers: in.w.Kafka.addrs, Source: Source, Group: Group, Membership: retrytopics.Membership{Instance: in.Name, Static: e.Static, Session: e.Session},
		Ordering: retrytopics.Ordering{Mode: e.Order, OnDeadLetter: e.OnDeadLetter, Versioned: e.Versioned},
		Dedupe:   retrytopics.Dedupe{Window: e.Window}, Retries: retrytopics.Retries{Tiers: tiers(e.Tiers), Policy: policy.Policy{MaxAttempts: e.MaxAttempts}},
		Handler: h.handle, Journal: retrytopics.Journal{Event: h.journal, Loss: journalLoss, KeepPartition: []string{Journal, Losses}}, Hooks: retrytopics.Hooks{OnCommit: p.held.committed},
		Limits: retrytopics.Limits{Concurrency: e.Concurrency, HeldRecords: e.HeldRecords}, Timing: retrytopics.Timing{Transaction: e.Transaction, ClockSkew: in.skew},
		Logger: in.logger(),
		Client: retrytopics.Client{Options: []kgo.Opt{
			kgo.Dialer(p.host.Dial), kgo.ClientID(in.Name), kgo.DisableClientMetrics(), kgo.WithHooks(p.held),
		}},
	}
	if in.logs != nil {
		cfg.Client.Options = append(cfg.Client.Options, kgo.WithLogger(kgo.BasicLogger(in.logs, kgo.LogLevelDebug, func() string { return time.Now().Format("15:04:05.000 ") + in.Name + " " })))
	}
	if e.Trail {
		cfg.Journal.HashChain = retrytopics.HashChain{HeadTopic: Heads, Extend: extend}
		cfg.Journal.KeepPartition = append(cfg.Journal.KeepPartition, Trail)
	}
	if c.Concurrency > 0 {
		cfg.Limits.Concurrency = c.Concurrency
	}
	if c.Static != nil {
		cfg.Membership.Static = *c.Static
	}
	if c.Order != "" {
		cfg.Ordering.Mode = c.Order
	}
	if len(c.Tiers) > 0 {
		cfg.Retries.Tiers = tiers(c.Tiers)
	}
	return cfg
}

const tierPrefix = Source + ".retry-"

// tiers names the topics of delays as the pipeline file does.
func tiers(delays []time.Duration) []policy.Tier {
	out := make([]policy.Tier, 0, len(delays))
	for _, d := range delays {
		out = append(out, policy.Tier{Topic: policy.TierTopic(tierPrefix, d), Delay: d})
	}
	return out
}
