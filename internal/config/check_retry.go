package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

const retryPath = "pipeline.retry_policy."

// Harmful retry patterns (S3-6). The rules refuse them in every key that can ask for them. These are policies for
// failures that never pass, retry rules, retryable statuses, a POST that is not declared idempotent, and values out of
// range.
const (
	infinite  = "infinite retries: a record that can never pass would be tried for ever; after a bounded number of attempts it becomes a dead letter, which can be replayed"
	impatient = "ignoring Retry-After: the service says when it is available again, and refuses and counts earlier attempts"
	growing   = "retrying faster and faster: a failing dependency needs fewer requests, not more, and a factor below 1 shortens each delay"
)

func (c checker) retryPolicy() {
	c.statusCodes()
	c.delays()
	c.tiers()
	c.policies()
	c.retryRules()
	p := c.cfg.Pipeline.RetryPolicy
	if longest := Duration(p.longestDelay()); c.usable(strings.TrimSuffix(retryPath, ".")) && p.RetryAfterLimit < longest {
		c.fault(retryPath+"retry_after_limit", fmt.Sprintf("forbidden: %s; %s is below the longest delay of the policies, %s", impatient, p.RetryAfterLimit, longest),
			"raise it to at least "+longest.String()+", or lower the delays")
	}
}

// statusCodes refuses a code in both lists (S0-3). The default terminal list already leaves out the retryable codes.
func (c checker) statusCodes() {
	const retryable, terminal = retryPath + "retryable_status_codes", retryPath + "terminal_status_codes"
	if !c.usable(retryable, terminal) {
		return
	}
	p := c.cfg.Pipeline.RetryPolicy
	for i, code := range p.RetryableStatusCodes {
		if reason := classify.ForbiddenStatus(code); reason != "" {
			c.fault(entry(retryable, i), "forbidden: "+reason, "remove it from the list")
		}
	}
	for i, code := range p.TerminalStatusCodes {
		if slices.Contains(p.RetryableStatusCodes, code) {
			c.fault(entry(terminal, i), fmt.Sprintf("%d is in retryable_status_codes too", code), "keep it in one of the two lists")
		}
	}
}

func (c checker) delays() {
	const base, longest = retryPath + "base_delay_seconds", retryPath + "max_delay_seconds"
	p := c.cfg.Pipeline.RetryPolicy
	switch {
	case !c.usable(base, longest) || p.BaseDelaySeconds <= p.MaxDelaySeconds:
	case c.explicit(longest):
		c.fault(longest, fmt.Sprintf("%v is below base_delay_seconds %v", p.MaxDelaySeconds, p.BaseDelaySeconds), "raise it, or lower base_delay_seconds")
	default:
		c.fault(base, fmt.Sprintf("%v is above max_delay_seconds, which defaults to %v", p.BaseDelaySeconds, p.MaxDelaySeconds), "lower it, or set max_delay_seconds")
	}
}

func (c checker) tiers() {
	const path = retryPath + "tiers"
	tiers := c.cfg.Pipeline.RetryPolicy.Tiers
	if !c.explicit(path) || !c.usable(path) || len(tiers) == 0 {
		return
	}
	for i, delay := range tiers {
		if delay.Std()%time.Millisecond != 0 {
			c.fault(entry(path, i), delay.String()+" is not a whole number of milliseconds", "round it")
		}
		if i > 0 && delay <= tiers[i-1] {
			c.fault(entry(path, i), fmt.Sprintf("%s does not come after %s", delay, tiers[i-1]), "list the tiers in ascending order, each once")
		}
	}
	c.tiersAgree(path, tiers)
}

// tiersAgree checks written tiers against written delays. With the strategy tiers, both set the first and the longest
// delay, so they must agree.
func (c checker) tiersAgree(path string, tiers []Duration) {
	const base, longest = retryPath + "base_delay_seconds", retryPath + "max_delay_seconds"
	p := c.cfg.Pipeline.RetryPolicy
	if p.Strategy != policy.StrategyTiers || !c.usable(retryPath+"strategy") {
		return
	}
	if first := tiers[0]; c.explicit(base) && c.usable(base) && first.Std() != p.BaseDelay() {
		c.fault(entry(path, 0), fmt.Sprintf("the first tier is %s, but base_delay_seconds is %v", first, p.BaseDelaySeconds),
			fmt.Sprintf("set base_delay_seconds: %v, or begin tiers with %s", first.Std().Seconds(), Duration(p.BaseDelay())))
	}
	if last := tiers[len(tiers)-1]; c.explicit(longest) && c.usable(longest) && last.Std() > p.MaxDelay() {
		c.fault(entry(path, len(tiers)-1), fmt.Sprintf("the tier %s is longer than max_delay_seconds %v", last, p.MaxDelaySeconds),
			fmt.Sprintf("set max_delay_seconds: %v, or remove the tier", last.Std().Seconds()))
	}
}

// policies checks the policies per category against the taxonomy and against the policy that they override.
func (c checker) policies() {
	known := texts(classify.RetriedCategories())
	for _, category := range slices.Sorted(maps.Keys(c.cfg.Pipeline.RetryPolicy.Policies)) {
		path := join(retryPath+"policies", string(category))
		switch {
		case !slices.Contains(classify.Categories(), category):
			fix := "known: " + strings.Join(known, ", ")
			if near := Nearest(string(category), known); near != "" {
				fix = "did you mean " + near + "? Known: " + strings.Join(known, ", ")
			}
			c.keyFault(path, "unknown category "+show(string(category)), fix)
		case !category.Retried():
			c.keyFault(path, "forbidden: "+classify.NeverRetried(category), "remove it; policies are for "+strings.Join(known, ", "))
		default:
			c.categoryDelays(path, category)
		}
	}
}

// categoryDelays refuses a longest delay below the base delay, whether written or inherited.
func (c checker) categoryDelays(path string, category classify.Category) {
	const base, longest = "base_delay_seconds", "max_delay_seconds"
	p := c.cfg.Pipeline.RetryPolicy.Engine().For(category)
	if p.MaxDelay >= p.BaseDelay || !c.usable(path, retryPath+base, retryPath+longest) {
		return
	}
	from := func(key string) string {
		switch {
		case c.explicit(join(path, key)):
			return ""
		case c.cfg.Pipeline.RetryPolicy.Policies[category].Preset != "":
			return ", which comes from the preset or the retry policy"
		}
		return ", which comes from the retry policy"
	}
	at := join(path, base)
	if !c.explicit(at) {
		at = join(path, longest)
	}
	c.fault(at, fmt.Sprintf("the delay would begin with %s%s, and end with %s%s", Duration(p.BaseDelay), from(base), Duration(p.MaxDelay), from(longest)),
		"set both, max_delay_seconds not below base_delay_seconds")
}

// retryRules refuses rules that match no failure, and rules that retry a failure that no attempt can fix (S3-6).
func (c checker) retryRules() {
	for i, r := range c.cfg.Pipeline.RetryPolicy.Rules {
		path := entry(retryPath+"rules", i)
		if !c.usable(path) {
			continue
		}
		err := r.Fault()
		forbidden, is := errors.AsType[*classify.ForbiddenError](err)
		switch {
		case is:
			c.keyFault(path, "forbidden: "+forbidden.Reason, "make the class permanent or row, or remove the rule")
		case err != nil:
			c.keyFault(path, err.Error(), "see `consumer validate --explain-errors` for codes and their causes")
		case r.Category != "" && (r.Class == classify.Permanent || r.Class == classify.Row):
			c.fault(join(path, "category"), "has no effect: class "+string(r.Class)+" is never tried again", "remove it")
		}
	}
}
