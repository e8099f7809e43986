package retrytopics

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Complete returns a copy in which every field has its value, and every fault of the configuration at once. A complete
// configuration stays as it is.
func (c Config) Complete() (Config, error) {
	if c.complete {
		return c, c.validate()
	}
	complete := c.withDefaults()
	complete.complete = true
	return complete, errors.Join(c.given(), complete.validate())
}

func (c Config) withDefaults() Config {
	c.Unknown = cmp.Or(c.Unknown, classify.RetryBackoff)
	c.Retries = c.Retries.withDefaults(c.Source, c.Unknown)
	c.DLQ = cmp.Or(c.DLQ, c.Source+".dlq")
	c.Ordering = c.Ordering.withDefaults(c.Source)
	c.Dedupe = c.Dedupe.withDefaults(c.Source)
	c.Delivery = cmp.Or(c.Delivery, ExactlyOnce)
	c.Membership = c.Membership.withDefaults()
	c.Journal = c.Journal.withDefaults()
	c.Hooks = c.Hooks.withDefaults()
	c.Limits = c.Limits.withDefaults()
	c.Timing = c.Timing.withDefaults()
	c.Origin.Pipeline = cmp.Or(c.Origin.Pipeline, c.Group)
	if c.Origin.Proven == nil {
		c.Origin.Proven = Unproven
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (r Retries) withDefaults(source string, unknown classify.Class) Retries {
	r.Policy = r.Policy.WithDefaults()
	r.TierPrefix = cmp.Or(r.TierPrefix, source+".retry-")
	r.Tiers = slices.Clone(r.Tiers)
	if len(r.Tiers) == 0 {
		for _, d := range []time.Duration{2 * time.Second, 8 * time.Second, 60 * time.Second} {
			r.Tiers = append(r.Tiers, policy.Tier{Topic: policy.TierTopic(r.TierPrefix, d), Delay: d})
		}
	}
	if r.Classify == nil {
		r.Classify = classify.New(classify.Options{Unknown: unknown}).Of
	}
	r.Classify = kafka.Classified(r.Classify)
	return r
}

func (m Membership) withDefaults() Membership {
	if m.Instance == "" {
		m.Instance, _ = os.Hostname() // an error leaves it empty, which validate reports
	}
	m.Session = cmp.Or(m.Session, 45*time.Second)
	return m
}

func (j Journal) withDefaults() Journal {
	if j.Event == nil {
		j.Event = func(*Event) ([]*kgo.Record, error) { return nil, nil }
	}
	return j
}

func (h Hooks) withDefaults() Hooks {
	if h.OnCommit == nil {
		h.OnCommit = func([]*Event) {}
	}
	if h.OnFailure == nil {
		h.OnFailure = func(*Event) {}
	}
	if h.OnTransaction == nil {
		h.OnTransaction = func(time.Duration, bool) {}
	}
	return h
}

func (l Limits) withDefaults() Limits {
	l.Concurrency = cmp.Or(l.Concurrency, 64)
	l.HeldRecords = cmp.Or(l.HeldRecords, 20000)
	l.HeldBytes = cmp.Or(l.HeldBytes, 64<<20)
	l.RecordBytes = cmp.Or(l.RecordBytes, MinRecordBytes)
	return l
}

func (t Timing) withDefaults() Timing {
	t.Handler = cmp.Or(t.Handler, time.Minute)
	t.Commit = cmp.Or(t.Commit, 10*time.Millisecond)
	t.Transaction = cmp.Or(t.Transaction, 10*time.Second)
	t.Shutdown = cmp.Or(t.Shutdown, 30*time.Second)
	return t
}
