package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

const policiesPath = retryPath + "policies"

// policies holds the policies per category against the taxonomy and against the policy that they override.
func (c checker) policies() {
	p := c.cfg.Pipeline.RetryPolicy
	for _, category := range slices.Sorted(maps.Keys(p.Policies)) {
		path := join(policiesPath, string(category))
		switch {
		case !slices.Contains(classify.Categories(), category):
			c.unknownCategory(path, string(category))
		case !category.Retried():
			c.forbidden(path, classify.NeverRetried(category), "remove it; policies are for "+strings.Join(texts(classify.RetriedCategories()), ", "))
		default:
			c.categoryDelays(path, category)
		}
	}
}

func (c checker) unknownCategory(path, name string) {
	known := texts(classify.RetriedCategories())
	fix := "known: " + strings.Join(known, ", ")
	if near := Nearest(name, known); near != "" {
		fix = "did you mean " + near + "? Known: " + strings.Join(known, ", ")
	}
	c.keyFault(path, "unknown category "+show(name), fix)
}

// categoryDelays refuses a cap below the base, wherever each of the two comes from.
func (c checker) categoryDelays(path string, category classify.Category) {
	if !c.sound(path, retryPath+"base_delay_seconds", retryPath+"max_delay_seconds") {
		return
	}
	p := c.cfg.Pipeline.RetryPolicy.Engine().For(category)
	if p.MaxDelay >= p.BaseDelay {
		return
	}
	from := func(key string) string {
		switch {
		case c.byHand(join(path, key)):
			return ""
		case c.cfg.Pipeline.RetryPolicy.Policies[category].Preset != "":
			return ", which comes from the preset or the retry policy"
		}
		return ", which comes from the retry policy"
	}
	at := join(path, "base_delay_seconds")
	if !c.byHand(at) {
		at = join(path, "max_delay_seconds")
	}
	c.fault(at, fmt.Sprintf("the delay would begin with %s%s, and end with %s%s", seconded(p.BaseDelay), from("base_delay_seconds"),
		seconded(p.MaxDelay), from("max_delay_seconds")), "set both, max_delay_seconds not below base_delay_seconds")
}

func seconded(d time.Duration) string { return Duration(d).String() }

// keyFault notes a fault of a key itself, at the place of the key.
func (c checker) keyFault(path, message, fix string) {
	at := c.cfg.origins.near(path)
	c.faults.add(Fault{Line: at.keyLine, Column: at.keyColumn, Variable: at.variable, Path: path, Message: message, Fix: fix})
	c.cfg.origins.crack(path)
}

// forbidden notes a pattern of retrying that does harm (S3-6), at the place of the key.
func (c checker) forbidden(path, reason, fix string) { c.keyFault(path, "forbidden: "+reason, fix) }
