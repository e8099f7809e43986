package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// live matches the keys that a running consumer can apply: rates, breaker rules and the log level.
var live = regexp.MustCompile(`^log\.level$|^sink\.postgis\.breaker\.|^enrich\[\d+\](\.providers\[\d+\])?\.(http|sql)\.(rate|breaker)\.`)

// Changes returns the sorted keys in which two configurations differ. A running consumer can apply the keys in taken,
// but not the keys in restart. A rate or a breaker that only one configuration has needs a restart. If the lists of
// steps differ, all keys of steps need one.
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

// sameSteps reports whether both configurations have the same remote steps and providers in the same order.
func (c *Config) sameSteps(other *Config) bool {
	return slices.EqualFunc(c.Enrich, other.Enrich, func(a, b EnrichStep) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Lookups(), b.Lookups(), func(p, q Provider) bool {
			return p.Name == q.Name && (p.HTTP == nil) == (q.HTTP == nil)
		})
	})
}

// Taking returns a copy of c with those values of next that a running consumer can apply.
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

// both returns next if both pointers are set, and now otherwise.
func both[T any](now, next *T) *T {
	if now == nil || next == nil {
		return now
	}
	return next
}

// tree returns the configuration as the mapping that its file holds, with every default written out.
func (c *Config) tree() (root map[string]any, err error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the configuration again: %w", err)
	}
	return root, nil
}

// leaves returns the value of every key that has no keys below it, by path.
func (c *Config) leaves() (map[string]string, error) {
	root, err := c.tree()
	if err != nil {
		return nil, err
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
			collect(below, entry(path, i), out)
		}
	default:
		out[path] = fmt.Sprint(v)
	}
}

// Decisive returns the part of the configuration that determines the result for a record. This part controls how a
// record is read, mapped, validated, enriched and written, and which failures are permanent. Every default is filled in,
// so comments and the order of keys do not matter. Broker addresses and topic names are left out. File paths are left
// out too, because only the content of a file matters. The caller may modify the returned map.
func (c *Config) Decisive() (map[string]any, error) {
	root, err := c.tree()
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, section := range []string{"source", "output", "transform", "enrich", "governance"} {
		out[section] = root[section]
	}
	without(out["source"], "topic", "group")
	without(out["output"], "topic")
	without(below(out["source"], "avro"), "schemas")
	without(below(out["governance"]), "energy")
	without(below(out["transform"], "geometry", "grids"), "folder")
	references, _ := below(out["transform"], "references").([]any)
	for _, one := range references {
		without(one, "file")
	}
	steps, _ := out["enrich"].([]any)
	for _, step := range steps {
		withoutReach(step)
	}
	policy := c.Pipeline.RetryPolicy
	out["classification"] = map[string]any{
		"retryable": slices.Sorted(slices.Values(policy.RetryableStatusCodes)), "terminal": slices.Sorted(slices.Values(policy.TerminalStatusCodes)),
		"rules": below(root, "pipeline", "retry_policy", "rules"),
	}
	out["ordering"] = string(c.Ordering.Mode)
	return out, nil
}

// Judging returns the configuration of another process, read from its [Config.YAML], so that this process can judge
// records as that one does: with the connections, topic names and files of c. The file of a reference set is the one that
// c names for the set. The result has the same decisive part as the other configuration (see [Config.Decisive]).
func (c *Config) Judging(other []byte) (*Config, error) {
	out, err := Parse("published pipeline file", other, nil)
	if err != nil {
		return nil, err
	}
	if out.SchemaRegistry.Enabled() && !c.SchemaRegistry.Enabled() {
		return nil, errors.New("it has a schema registry, which this pipeline file does not have")
	}
	out.Kafka, out.SchemaRegistry, out.Topics, out.Engine, out.Replayer = c.Kafka, c.SchemaRegistry, c.Topics, c.Engine, c.Replayer
	out.Source.Topic, out.Source.Group, out.Source.Avro.Schemas = c.Source.Topic, c.Source.Group, c.Source.Avro.Schemas
	out.Output.Topic, out.Transform.Geometry.Grids.Folder = c.Output.Topic, c.Transform.Geometry.Grids.Folder
	for i := range out.Transform.References {
		set := &out.Transform.References[i]
		if set.File == "" {
			continue
		}
		own := slices.IndexFunc(c.Transform.References, func(r transform.Reference) bool { return r.Name == set.Name && r.File != "" })
		if own < 0 {
			return nil, fmt.Errorf("it has the reference set %q from a file, which this pipeline file does not have", set.Name)
		}
		set.File = c.Transform.References[own].File
	}
	return out, nil
}

// withoutReach removes the keys of a step and its providers that do not affect the answer, such as timeouts and rates.
func withoutReach(step any) {
	reaching := []string{"rate", "breaker", "cache", "timeout", "max_connections", "dsn_env", "dsn_file", "retries"}
	without(step, reaching...)
	for _, how := range []string{"http", "sql"} {
		without(below(step, how), reaching...)
	}
	providers, _ := below(step, "providers").([]any)
	for _, p := range providers {
		withoutReach(p)
	}
}

func below(value any, path ...string) any {
	for _, key := range path {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	return value
}

func without(value any, keys ...string) {
	m, _ := value.(map[string]any)
	for _, key := range keys {
		delete(m, key)
	}
}
