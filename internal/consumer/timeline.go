package consumer

import (
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Timeline is the sequence of waits of a record that fails transiently, each time for the same reason.
type Timeline struct {
	Categories []classify.Category // the failure categories that share it
	Policy     policy.Policy
	Waits      []Wait
	Holds      bool // the last failure pauses the pipeline instead of making a dead letter
}

// Name lists the categories.
func (t Timeline) Name() string {
	names := make([]string, len(t.Categories))
	for i, c := range t.Categories {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// Wait is the wait before one attempt.
type Wait struct {
	Attempt     int           // the attempt that follows it, from 2
	Least, Most time.Duration // jitter included
	Tiers       []string      // the topic, or the first and last of those that the delay may choose
}

// Timelines returns the retry timeline of every category, in the order of classify.RetriedCategories; categories with
// equal timelines share one. It uses the engine's own decision.
func Timelines(cfg *config.Config) []Timeline {
	e := retries(cfg)
	policies := policy.Policies{Default: e.Retries.Policy, ByCategory: e.Retries.ByCategory}
	var out []Timeline
	for _, category := range classify.RetriedCategories() {
		policy := policies.For(category)
		same := slices.IndexFunc(out, func(t Timeline) bool { return t.Policy == policy && t.Holds == category.Blocks() })
		if same >= 0 {
			out[same].Categories = append(out[same].Categories, category)
			continue
		}
		out = append(out, Timeline{Categories: []classify.Category{category}, Policy: policy, Waits: waits(policies, e.Retries.Tiers, category), Holds: category.Blocks()})
	}
	return out
}

// waits decides twice after each attempt: with the luckiest draw and with the unluckiest.
func waits(policies policy.Policies, tiers []policy.Tier, category classify.Category) []Wait {
	failure := classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, Category: category}
	start := time.Unix(0, 0).UTC()
	decide := func(tried policy.Tried, draw float64) policy.Decision {
		return policy.Decide(policies, tiers, tried, failure, start, func() float64 { return draw })
	}
	var out []Wait
	longest := time.Duration(0)
	for attempt := 1; ; attempt++ {
		first := decide(policy.Tried{Attempts: attempt}, 0)
		last := decide(policy.Tried{Attempts: attempt, LastDelay: longest}, 1)
		if first.Outcome != policy.OutcomeRetried {
			return out
		}
		longest = last.Due.Sub(start)
		w := Wait{Attempt: attempt + 1, Least: first.Due.Sub(start), Most: longest, Tiers: []string{tiers[first.Tier].Topic}}
		if last.Tier != first.Tier {
			w.Tiers = append(w.Tiers, tiers[last.Tier].Topic)
		}
		out = append(out, w)
	}
}
