package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
)

// Decisive gives what of the configuration decides what becomes of a record: how it is read, mapped, validated, enriched and
// written, and which failures are permanent. It is what the file says with every default filled in, so neither comments nor the
// order of keys count, nor where Kafka is and what topics are called. Files are left out: their content counts, not their path.
// The caller may change what it gets.
func (c *Config) Decisive() (map[string]any, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var root map[string]any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the configuration again: %w", err)
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
		asked(step)
	}
	policy := c.Pipeline.RetryPolicy
	out["classification"] = map[string]any{
		"retryable": slices.Sorted(slices.Values(policy.RetryableStatusCodes)), "terminal": slices.Sorted(slices.Values(policy.TerminalStatusCodes)),
		"rules": below(root, "pipeline", "retry_policy", "rules"),
	}
	out["ordering"] = string(c.Ordering.Mode)
	return out, nil
}

// asked leaves of a step, and of its providers, what decides the answer: not how a service is reached and how hard it is asked.
func asked(step any) {
	reaching := []string{"rate", "breaker", "cache", "timeout", "max_connections", "dsn_env", "dsn_file", "retries"}
	without(step, reaching...)
	for _, how := range []string{"http", "sql"} {
		without(below(step, how), reaching...)
	}
	providers, _ := below(step, "providers").([]any)
	for _, p := range providers {
		asked(p)
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
