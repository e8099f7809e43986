package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// live matches the keys that a running consumer can take up: rates, the rules of breakers, and the level of the log.
var live = regexp.MustCompile(`^log\.level$|^sink\.postgis\.breaker\.|^enrich\[\d+\](\.providers\[\d+\])?\.(http|sql)\.(rate|breaker)\.`)

// Changes lists the keys in which two configurations differ, in order: those that a running consumer can take up, and those
// that need a restart. A rate or a breaker that only one of them has needs a restart, and so do those of steps when another
// list of steps makes their places mean something else.
func Changes(from, to *Config) (taken, restart []string, err error) {
	before, err := from.leaves()
	if err != nil {
		return nil, nil, err
	}
	after, err := to.leaves()
	if err != nil {
		return nil, nil, err
	}
	same := from.sameSteps(to)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		was, had := before[path]
		is, has := after[path]
		switch {
		case had && has && was == is:
		case had && has && live.MatchString(path) && (same || !strings.HasPrefix(path, "enrich")):
			taken = append(taken, path)
		default:
			restart = append(restart, path)
		}
	}
	return taken, restart, nil
}

// sameSteps says whether both have the same remote steps and providers in the same places.
func (c *Config) sameSteps(other *Config) bool {
	return slices.EqualFunc(c.Enrich, other.Enrich, func(a, b EnrichStep) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Lookups(), b.Lookups(), func(p, q Provider) bool {
			return p.Name == q.Name && (p.HTTP == nil) == (q.HTTP == nil)
		})
	})
}

// Taking gives a copy with what a running consumer can take up of another configuration.
func (c *Config) Taking(next *Config) *Config {
	out := *c
	out.Log = next.Log
	if c.Sink.PostGIS != nil && next.Sink.PostGIS != nil {
		table := *c.Sink.PostGIS
		table.Breaker = next.Sink.PostGIS.Breaker
		out.Sink.PostGIS = &table
	}
	if !c.sameSteps(next) {
		return &out
	}
	out.Enrich = slices.Clone(c.Enrich)
	for i := range out.Enrich {
		step := &out.Enrich[i]
		step.HTTP, step.SQL = step.HTTP.taking(next.Enrich[i].HTTP), step.SQL.taking(next.Enrich[i].SQL)
		step.Providers = slices.Clone(step.Providers)
		for j := range step.Providers {
			p, other := &step.Providers[j], next.Enrich[i].Providers[j]
			p.HTTP, p.SQL = p.HTTP.taking(other.HTTP), p.SQL.taking(other.SQL)
		}
	}
	return &out
}

func (h *HTTPLookup) taking(next *HTTPLookup) *HTTPLookup {
	if h == nil || next == nil {
		return h
	}
	out := *h
	out.Rate, out.Breaker = both(h.Rate, next.Rate), both(h.Breaker, next.Breaker)
	return &out
}

func (s *SQLLookup) taking(next *SQLLookup) *SQLLookup {
	if s == nil || next == nil {
		return s
	}
	out := *s
	out.Rate, out.Breaker = both(s.Rate, next.Rate), both(s.Breaker, next.Breaker)
	return &out
}

// both gives next where both sides have a value.
func both[T any](now, next *T) *T {
	if now == nil || next == nil {
		return now
	}
	return next
}

// leaves gives the value of every key that has no keys below it, by its path.
func (c *Config) leaves() (map[string]string, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var root any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the configuration again: %w", err)
	}
	out := map[string]string{}
	collect(root, "", out)
	return out, nil
}

func collect(value any, path string, out map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if path != "" {
				key = path + "." + key
			}
			collect(below, key, out)
		}
	case []any:
		for i, below := range v {
			collect(below, path+"["+strconv.Itoa(i)+"]", out)
		}
	default:
		out[path] = fmt.Sprint(v)
	}
}
