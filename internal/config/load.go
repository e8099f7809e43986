package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Load reads the file at path and the environment. A configuration with faults returns a [*Faults] that lists all of
// them. Any other error is about reading the file or the host name.
//
// Load does two things more than [Parse]. It reports an environment variable that begins with SWITCHBACK_ and overrides
// no key. It sets engine.instance to the host name if the file does not set it.
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

// Parse reads a configuration from its text and an environment. Each fault begins with name. env returns the value of a
// variable, or "" if it is not set; a nil env is an empty environment. The error is a [*Faults].
//
// CI=true in the environment lowers the attempts (S1-3; see [Config.CappedByCI]). Parse is pure: it leaves
// engine.instance empty if the text does not set it.
func Parse(name string, data []byte, env func(string) string) (*Config, error) {
	cfg, faults := build(name, data, newEnvironment(env, nil))
	if err := faults.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// build decodes a configuration, fills in derived values and checks the result. It collects every fault.
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
	if limit := cfg.Pipeline.RetryPolicy.CIMaxAttempts; limit > 0 && strings.EqualFold(env.lookup("CI"), "true") {
		cfg.capByCI(limit)
	}
	check(cfg, faults)
	env.unknown(faults)
	return cfg, faults
}

// fill derives the values that were not written from the values that were.
func fill(c *Config) {
	fillPolicy(&c.Pipeline.RetryPolicy, func(key string) bool { return c.origins.explicit("pipeline.retry_policy." + key) })
	fillNames(c)
	fillFormat(c)
	fillBreakers(c)
	fillPrecision(c)
	if !c.origins.explicit("transform.limits.max_bytes") {
		c.Transform.Limits.MaxBytes = c.Source.MaxRecordBytes
	}
	c.Transform = c.Transform.WithDefaults()
}

// DLQ selects a dead-letter queue and its cluster if there is no pipeline file.
type DLQ struct {
	Topic    string   // mandatory
	Brokers  []string // host:port; precedes SWITCHBACK_KAFKA_BROKERS, which precedes the profile; nil uses those
	Profile  string   // a name in the profiles file; "" for none
	Profiles string   // the profiles file, which is read only if Profile is set; "" for the default file
	Registry string   // URL of the schema registry for Avro values; precedes SWITCHBACK_SCHEMA_REGISTRY_URL; "" uses that variable
}

// withoutPipeline sets the mandatory keys of a pipeline file. None of them affects a command that only reads dead
// letters.
const withoutPipeline = `pipeline:
  id: dlq
  retry_policy: { max_attempts: 1, base_delay_seconds: 1.0, retryable_status_codes: [] }
  tolerance: { max_null_rate: 1.0, halt_on_geometry_invalid: false }
`

const (
	flagTopic    = "--topic"
	flagBrokers  = "--brokers"
	flagProfile  = "--profile"
	flagRegistry = "--registry"
)

// defaultProfiles returns the default profiles file: switchback/profiles.yaml in the user's configuration folder.
func defaultProfiles() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of the profiles: %w", err)
	}
	return filepath.Join(dir, "switchback", "profiles.yaml"), nil
}

// LoadDLQ returns a configuration for a DLQ without a pipeline file. Only three parts of it have a meaning: Kafka, the
// names derived from the DLQ, and the defaults for reading. A configuration with faults returns a [*Faults]. Any other
// error is about reading the profiles file.
func LoadDLQ(q DLQ) (*Config, error) {
	var profiles []byte
	if q.Profile != "" {
		if q.Profiles == "" {
			file, err := defaultProfiles()
			if err != nil {
				return nil, err
			}
			q.Profiles = file
		}
		text, err := os.ReadFile(q.Profiles)
		if err != nil {
			return nil, fmt.Errorf("read the profiles, for %s %s: %w", flagProfile, q.Profile, err)
		}
		profiles = text
	}
	return ParseDLQ(q, profiles, os.Getenv)
}

// ParseDLQ does the same as [LoadDLQ] with the text of the profiles and an environment. It reads only the variables
// SWITCHBACK_KAFKA_… and SWITCHBACK_SCHEMA_REGISTRY_…, and is pure.
func ParseDLQ(q DLQ, profiles []byte, env func(string) string) (*Config, error) {
	cfg := &Config{origins: newOrigins()}
	faults := &Faults{Name: q.Profiles}
	d := &decoder{faults: faults, origins: cfg.origins}
	root := reflect.ValueOf(cfg).Elem()
	d.document([]byte(withoutPipeline), root)
	if q.Profile != "" {
		d.profile(profiles, q.Profile, &cfg.Kafka)
	}
	newEnvironment(env, nil).connecting(map[string]commandFlag{
		Variable("kafka.brokers"): {flagBrokers, strings.Join(q.Brokers, ",")}, Variable("schema_registry.url"): {flagRegistry, q.Registry},
	}).apply(d, root)
	fill(cfg)
	d.topicFlag(q.Topic, cfg)
	if faults.err() == nil && !cfg.origins.written("kafka.brokers") {
		faults.add(Fault{Variable: flagBrokers, Message: "no broker is named", Fix: "give host:port of one or some, or a profile that has brokers"})
	}
	check(cfg, faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	cfg.nameAfter(q.Topic)
	return cfg, nil
}

// nameAfter derives the replayer's topics and group from the name of a DLQ. The DLQ takes the place of the source topic.
// Replayers of a pipeline that exclude each other from writing use names derived from the source.
func (c *Config) nameAfter(dlq string) {
	c.Pipeline.ID, c.Source.Topic, c.Source.Group = dlq, dlq, dlq+".replayer"
	c.Topics.DLQStatus, c.Topics.Audit, c.Topics.Control = dlq+".replayer-status", dlq+".replayer-audit", dlq+".replayer-control"
}

// profile decodes one profile: the keys below kafka of a pipeline file.
func (d *decoder) profile(text []byte, name string, kafka *Kafka) {
	node, ok := d.parse(text)
	if !ok {
		return
	}
	var names []string
	found := false
	if node != nil {
		d.pairs("", node, "the key profiles", func(key, path string, pair *ast.MappingValueNode) {
			if key != "profiles" {
				d.faultAt(path, pair.Key, "is no key of this file", "write the profiles below profiles:")
				return
			}
			d.pairs(path, pair.Value, "profiles by their names", func(each, _ string, pair *ast.MappingValueNode) {
				names = append(names, each)
				if each == name {
					found = true
					d.value("kafka", pair.Value, reflect.ValueOf(kafka).Elem(), rules{})
				}
			})
		})
	}
	if found {
		return
	}
	slices.Sort(names)
	fix := "add it below profiles:"
	if len(names) > 0 {
		fix = "the file has " + strings.Join(names, ", ")
	}
	d.faults.add(Fault{Variable: flagProfile, Message: fmt.Sprintf("%s has no profile %s", d.faults.Name, show(name)), Fix: fix})
}

// topicFlag sets the DLQ from the flag. If it refuses the name, the default stays, so that the user sees one fault
// instead of two.
func (d *decoder) topicFlag(topic string, cfg *Config) {
	problem, _ := topicProblem(topic)
	switch {
	case topic == "":
		d.faults.add(Fault{Variable: flagTopic, Message: "no DLQ is named", Fix: "give its topic, for example: --topic payments.DLT"})
	case problem != "":
		d.faults.add(Fault{Variable: flagTopic, Message: show(topic) + " is not a topic name", Fix: "use at most 249 letters, digits, dots, underscores and hyphens"})
	default:
		cfg.Topics.DLQ = topic
	}
}
