package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
)

// Load reads the file at path and the environment. A fault of the configuration is a [*Faults]
// that lists all of them; any other error is about reading the file. It does what [Parse] does
// and two things that need the process: an environment variable that begins with SWITCHBACK_ and
// overrides nothing is a fault, and engine.instance becomes the host name when it is not given.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline file: %w", err)
	}
	cfg, faults := build(path, text, newEnvironment(os.Getenv, os.Environ()))
	if err := faults.err(); err != nil {
		return nil, err
	}
	if cfg.Engine.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("engine.instance defaults to the host name, which cannot be read; set it: %w", err)
		}
		cfg.Engine.Instance = host
	}
	return cfg, nil
}

// Parse reads a configuration from its text and an environment; name stands before each fault.
// env returns the value of a variable, "" when it is not set; nil means no environment. The error
// is a [*Faults]. CI=true in the environment lowers the attempts (S1-3; see [Config.CappedByCI]). Parse is pure: engine.instance stays empty when it is not given.
func Parse(name string, data []byte, env func(string) string) (*Config, error) {
	cfg, faults := build(name, data, newEnvironment(env, nil))
	if err := faults.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// build decodes, fills in and checks a configuration, in this order, collecting every fault.
func build(name string, text []byte, env *environment) (*Config, *Faults) {
	cfg := &Config{origins: newOrigins()}
	faults := &Faults{Name: name}
	d := &decoder{faults: faults, origins: cfg.origins}
	root := reflect.ValueOf(cfg).Elem()
	if !d.document(text, root) {
		return nil, faults
	}
	env.apply(d, root)
	d.missing("", root)
	fill(cfg)
	if most := cfg.Pipeline.RetryPolicy.CIMaxAttempts; most > 0 && strings.EqualFold(env.lookup("CI"), "true") {
		cfg.capByCI(most)
	}
	check(cfg, faults)
	env.unknown(faults, cfg)
	return cfg, faults
}

// fill derives what was not given from what was.
func fill(c *Config) {
	fillPolicy(&c.Pipeline.RetryPolicy, func(key string) bool { return c.origins.byHand("pipeline.retry_policy." + key) })
	fillNames(c)
	fillFormat(c)
	fillBreakers(c)
	decimals := c.Pipeline.Tolerance.PrecisionDecimalThreshold
	c.Transform.PrecisionDecimals = &decimals
	if least := c.Pipeline.Tolerance.MinDecimals; least > 0 {
		c.Transform.MinDecimals = &least
	}
	if !c.origins.byHand("transform.limits.max_bytes") {
		c.Transform.Limits.MaxBytes = c.Source.MaxRecordBytes
	}
	c.Transform = c.Transform.WithDefaults()
}

// missing reports every mandatory key below v that was not written, at the line of its parent. Of
// a mapping that is missing as a whole, only the mapping is reported.
func (d *decoder) missing(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.missing(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.missing(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Struct:
		for _, k := range keysOf(v.Type()) {
			child := join(path, k.name)
			if k.rules.required && !d.origins.written(child) {
				d.reportMissing(path, child, k)
				continue
			}
			d.missing(child, v.Field(k.index))
		}
	default: // one value: it has nothing below it
	}
}

func (d *decoder) reportMissing(path, child string, k key) {
	if d.origins.broken[path] {
		return // the parent could not be read, so nobody knows what it holds
	}
	at := d.origins.near(path)
	d.origins.crack(child)
	d.faults.add(Fault{
		Line: at.keyLine, Column: at.keyColumn, Variable: at.variable, Path: child,
		Message: "is mandatory and missing", Fix: "add " + exampleOf(k),
	})
}

// exampleOf shows how a mandatory key is written.
func exampleOf(k key) string {
	switch {
	case k.rules.example != "":
		return k.name + ": " + k.rules.example
	case k.typ.Kind() != reflect.Struct:
		return k.name + " with " + expected(k.typ)
	}
	var inside []string
	for _, sub := range keysOf(k.typ) {
		if sub.rules.required {
			inside = append(inside, sub.name)
		}
	}
	return k.name + ": with " + strings.Join(inside, ", ") + " below it"
}
