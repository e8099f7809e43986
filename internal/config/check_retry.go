package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

const retryPath = "pipeline.retry_policy."

func (c checker) retryPolicy() {
	c.statusCodes()
	c.delays()
	c.tiers()
	c.policies()
	c.retryRules()
	c.retryAfterLimit()
}

// statusCodes refuses a code in both lists (S0-3). The default terminal list has already given
// way to the retryable codes.
func (c checker) statusCodes() {
	if !c.sound(retryPath+"retryable_status_codes", retryPath+"terminal_status_codes") {
		return
	}
	p := c.cfg.Pipeline.RetryPolicy
	for i, code := range p.RetryableStatusCodes {
		if reason := classify.ForbiddenStatus(code); reason != "" {
			c.fault(retryPath+"retryable_status_codes["+strconv.Itoa(i)+"]", "forbidden: "+reason, "remove it from the list")
		}
	}
	for i, code := range p.TerminalStatusCodes {
		if slices.Contains(p.RetryableStatusCodes, code) {
			c.fault(retryPath+"terminal_status_codes["+strconv.Itoa(i)+"]",
				fmt.Sprintf("%d is in retryable_status_codes too", code), "keep it in one of the two lists")
		}
	}
}

// retryAfterLimit refuses to cut a Retry-After to less than the pipeline would wait by itself (S3-6).
func (c checker) retryAfterLimit() {
	const path = retryPath + "retry_after_limit"
	p := c.cfg.Pipeline.RetryPolicy
	if longest := Duration(p.longestDelay()); c.sound(strings.TrimSuffix(retryPath, ".")) && p.RetryAfterLimit < longest {
		c.fault(path, fmt.Sprintf("forbidden: %s; %s is below the longest delay of the policies, %s", impatient, p.RetryAfterLimit, longest),
			"raise it to at least "+longest.String()+", or lower the delays")
	}
}

func (c checker) delays() {
	const base, longest = retryPath + "base_delay_seconds", retryPath + "max_delay_seconds"
	p := c.cfg.Pipeline.RetryPolicy
	if !c.sound(base, longest) || p.BaseDelaySeconds <= p.MaxDelaySeconds {
		return
	}
	if c.byHand(longest) {
		c.fault(longest, fmt.Sprintf("%v is below base_delay_seconds %v", p.MaxDelaySeconds, p.BaseDelaySeconds), "raise it, or lower base_delay_seconds")
		return
	}
	c.fault(base, fmt.Sprintf("%v is above max_delay_seconds, which defaults to %v", p.BaseDelaySeconds, p.MaxDelaySeconds), "lower it, or set max_delay_seconds")
}

func (c checker) tiers() {
	const path = retryPath + "tiers"
	if !c.byHand(path) || !c.sound(path) {
		return
	}
	tiers := c.cfg.Pipeline.RetryPolicy.Tiers
	for i, delay := range tiers {
		entry := path + "[" + strconv.Itoa(i) + "]"
		if delay.Std()%time.Millisecond != 0 {
			c.fault(entry, delay.String()+" is not a whole number of milliseconds", "round it")
		}
		if i > 0 && delay <= tiers[i-1] {
			c.fault(entry, fmt.Sprintf("%s does not come after %s", delay, tiers[i-1]), "list the tiers in ascending order, each once")
		}
	}
	c.tiersAgree(path, tiers)
}

// tiersAgree holds given tiers against the given delays: with the strategy tiers both say how
// long the first and the longest wait is, and must say the same.
func (c checker) tiersAgree(path string, tiers []Duration) {
	const base, longest, strategy = retryPath + "base_delay_seconds", retryPath + "max_delay_seconds", retryPath + "strategy"
	p := c.cfg.Pipeline.RetryPolicy
	if p.Strategy != policy.StrategyTiers || len(tiers) == 0 || !c.sound(strategy) {
		return
	}
	if first := tiers[0]; c.byHand(base) && c.sound(base) && first.Std() != p.BaseDelay() {
		c.fault(path+"[0]", fmt.Sprintf("the first tier is %s, but base_delay_seconds is %v", first, p.BaseDelaySeconds),
			fmt.Sprintf("set base_delay_seconds: %v, or begin tiers with %s", first.Std().Seconds(), Duration(p.BaseDelay())))
	}
	if last := tiers[len(tiers)-1]; c.byHand(longest) && c.sound(longest) && last.Std() > p.MaxDelay() {
		c.fault(path+"["+strconv.Itoa(len(tiers)-1)+"]", fmt.Sprintf("the tier %s is longer than max_delay_seconds %v", last, p.MaxDelaySeconds),
			fmt.Sprintf("set max_delay_seconds: %v, or remove the tier", last.Std().Seconds()))
	}
}
