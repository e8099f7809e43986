package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const twoProfiles = `profiles:
  prod:
    brokers: [kafka-1:9093, kafka-2:9093]
    tls: { enabled: true }
    sasl: { mechanism: SCRAM-SHA-512, username: desk, password_env: DESK_PASSWORD }
  test:
    brokers: [127.0.0.1:9092]
`

func TestParseDLQ_who_names_the_brokers(t *testing.T) {
	const variable = "SWITCHBACK_KAFKA_BROKERS"
	env := func(name string) string {
		return map[string]string{variable: "env:1", "SWITCHBACK_TOPICS_DLQ": "other"}[name]
	}
	none := func(string) string { return "" }
	for name, c := range map[string]struct {
		q    DLQ
		env  func(string) string
		want []string
	}{
		"profile":                   {DLQ{Topic: "payments.DLT", Profile: "prod"}, none, []string{"kafka-1:9093", "kafka-2:9093"}},
		"the environment outranks":  {DLQ{Topic: "payments.DLT", Profile: "prod"}, env, []string{"env:1"}},
		"the flag outranks both":    {DLQ{Topic: "payments.DLT", Profile: "prod", Brokers: []string{"flag:1", "flag:2"}}, env, []string{"flag:1", "flag:2"}},
		"no profile":                {DLQ{Topic: "payments.DLT", Brokers: []string{"flag:1"}}, nil, []string{"flag:1"}},
		"the environment by itself": {DLQ{Topic: "payments.DLT"}, env, []string{"env:1"}},
	} {
		cfg, err := ParseDLQ(c.q, []byte(twoProfiles), c.env)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.That(t, slices.Equal(cfg.Kafka.Brokers, c.want) && cfg.Topics.DLQ == "payments.DLT", "%s: brokers %v of %s", name, cfg.Kafka.Brokers, cfg.Topics.DLQ)
		secured := cfg.Kafka.TLS.Enabled && cfg.Kafka.SASL.Mechanism == MechanismScramSHA512 && cfg.Kafka.SASL.PasswordEnv == "DESK_PASSWORD"
		expect.That(t, secured == (c.q.Profile == "prod"), "%s: tls %+v, sasl %+v", name, cfg.Kafka.TLS, cfg.Kafka.SASL)
	}
}

func TestParseDLQ_says_what_is_wrong_and_where(t *testing.T) {
	for name, c := range map[string]struct {
		q        DLQ
		profiles string
		want     string
	}{
		"no topic":          {DLQ{Brokers: []string{"a:1"}}, "", "--topic: no DLQ is named"},
		"bad topic":         {DLQ{Topic: "a/b", Brokers: []string{"a:1"}}, "", "--topic: \"a/b\" is no name of a topic"},
		"no broker":         {DLQ{Topic: "d"}, "", "--brokers: no broker is named"},
		"bad registry":      {DLQ{Topic: "d", Brokers: []string{"a:1"}, Registry: "registry:8081"}, "", "--registry: schema_registry.url: "},
		"bad broker":        {DLQ{Topic: "d", Brokers: []string{"kafka"}}, "", "--brokers: kafka.brokers[0]: "},
		"no such profile":   {DLQ{Topic: "d", Profile: "live", Profiles: "p.yaml"}, twoProfiles, "--profile: p.yaml has no profile \"live\"; the file has prod, test"},
		"empty file":        {DLQ{Topic: "d", Profile: "live", Profiles: "p.yaml"}, "", "--profile: p.yaml has no profile \"live\"; add it below profiles:"},
		"misspelt key":      {DLQ{Topic: "d", Profile: "x", Profiles: "p.yaml"}, "profiles:\n  x:\n    broker: [a:1]\n", "p.yaml:3:5: kafka.broker: "},
		"bad mechanism":     {DLQ{Topic: "d", Profile: "x", Profiles: "p.yaml"}, "profiles:\n  x:\n    brokers: [a:1]\n    sasl: { mechanism: MD5 }\n", "p.yaml:4:24: kafka.sasl.mechanism: "},
		"sasl without user": {DLQ{Topic: "d", Profile: "x", Profiles: "p.yaml"}, "profiles:\n  x:\n    brokers: [a:1]\n    sasl: { mechanism: PLAIN }\n", "p.yaml:4:24: kafka.sasl.mechanism: SASL is on without username"},
		"other key":         {DLQ{Topic: "d", Profile: "x", Profiles: "p.yaml"}, "prod:\n  brokers: [a:1]\n", "p.yaml:1:1: prod: is no key of this file"},
		"no YAML":           {DLQ{Topic: "d", Profile: "x", Profiles: "p.yaml"}, "profiles: [", "p.yaml:1:"},
		"a list":            {DLQ{Topic: "d", Profile: "x", Profiles: "p.yaml"}, "- prod\n", "p.yaml:1:1: expected the key profiles"},
	} {
		_, err := ParseDLQ(c.q, []byte(c.profiles), nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "pipeline."), "%s: want %q in %v", name, c.want, err)
	}
}

// The registry of a DLQ without a pipeline is named by a flag or the environment, which has its secrets too.
func TestParseDLQ_the_schema_registry(t *testing.T) {
	vars := map[string]string{
		"SWITCHBACK_SCHEMA_REGISTRY_URL": "http://other:8081", "SWITCHBACK_SCHEMA_REGISTRY_USERNAME": "desk",
		"SWITCHBACK_SCHEMA_REGISTRY_PASSWORD_ENV": "REGISTRY_PASSWORD", "SWITCHBACK_SOURCE_TOPIC": "x",
	}
	for flag, want := range map[string]string{"": "http://other:8081", "http://registry:8081": "http://registry:8081"} {
		cfg := must.Get(ParseDLQ(DLQ{Topic: "d", Brokers: []string{"a:1"}, Registry: flag}, nil, func(name string) string { return vars[name] }))(t)
		r := cfg.SchemaRegistry
		expect.That(t, r.URL == want && r.Username == "desk" && r.PasswordEnv == "REGISTRY_PASSWORD", "%q: %+v", flag, r)
	}
}
