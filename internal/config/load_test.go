package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// TestMain removes the developer's own variables, which would override the files.
func TestMain(m *testing.M) {
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, variablePrefix) || name == "CI" {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	m.Run() // its result becomes the exit code
}

// goodFiles lists every file that must load: the samples, the reference and the files of deploy/.
func goodFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"testdata/*.yaml", "../../deploy/config*.yaml"} {
		files, err := filepath.Glob(pattern)
		must.That(t, err == nil && len(files) != 0, "no files match %s: %v", pattern, err)
		out = append(out, files...)
	}
	return out
}

func TestLoad_S0_1_the_file_of_the_first_source_document(t *testing.T) {
	cfg := must.Get(Load("testdata/pipeline_resilience.yaml"))(t)
	p := cfg.Pipeline.RetryPolicy
	expect.That(t, cfg.Pipeline.ID == "municipal-parcel-sync" && p.MaxAttempts == 3 && p.BaseDelaySeconds == 2 && p.Jitter, "got %+v", cfg.Pipeline)
	expect.That(t, slices.Equal(p.RetryableStatusCodes, []int{429, 502, 503}) && slices.Equal(p.TerminalStatusCodes, []int{400, 401}), "codes: %v, %v", p.RetryableStatusCodes, p.TerminalStatusCodes)
	want := Tolerance{
		MaxNullRate: 0.005, HaltOnGeometryInvalid: true, PrecisionDecimalThreshold: 6,
		MaxTransientRate: 0.4, MaxDeadLetterRate: 0.2, Window: Duration(10 * time.Minute), MinRecords: 100, // S1-8, S4-9
		PauseOn: []classify.Code{classify.CodePrecisionDegraded, classify.CodeForeignKeyEmpty}, OnBatch: OnBatchQuarantine, // S0-9, S4-1
	}
	expect.That(t, reflect.DeepEqual(cfg.Pipeline.Tolerance, want), "tolerance %+v, want %+v", cfg.Pipeline.Tolerance, want)
}

func TestParse_defaults(t *testing.T) {
	cfg := minimal(t, "")
	p := cfg.Pipeline.RetryPolicy
	for name, check := range map[string]struct{ got, want any }{
		"S1-1 base delay":                {p.BaseDelay(), 2 * time.Second},
		"S1-1 cap":                       {p.MaxDelay(), 60 * time.Second},
		"S1-1 attempts":                  {p.MaxAttempts, 5},
		"S1-1 jitter":                    {p.MaxJitter(), time.Second},
		"S0-3 jitter is on":              {p.Jitter, true},
		"S0-3 terminal codes":            {p.TerminalStatusCodes, []int{400, 401, 403, 404, 500}},
		"S0-9 no floor":                  {cfg.Pipeline.Tolerance.PrecisionDecimalThreshold, 0},
		"S2-1 multiplier":                {p.Multiplier, 2.0},
		"C-2 tiers":                      {p.TierDelays(), []time.Duration{2 * time.Second, 8 * time.Second, time.Minute}},
		"C-2 tier topics":                {cfg.TierTopics(), []string{"parcels.retry-2s", "parcels.retry-8s", "parcels.retry-60s"}},
		"C-3 DLQ":                        {cfg.Topics.DLQ, "parcels.dlq"},
		"output":                         {cfg.Output.Topic, "parcels.out"},
		"group":                          {cfg.Source.Group, "parcels"},
		"strategy":                       {p.Strategy, policy.StrategyTiers},
		"Retry-After limit":              {p.RetryAfterLimit.Std(), time.Hour},
		"S0-3 rounding":                  {*cfg.Transform.Geometry.RoundDecimals, 6},
		"record limit reaches transform": {cfg.Transform.Limits.MaxBytes, 8 << 20},
		"brokers":                        {cfg.Kafka.Brokers, []string{"127.0.0.1:9092"}},
		"SASL is off":                    {cfg.Kafka.SASL.Enabled(), false},
	} {
		t.Run(name, func(t *testing.T) {
			expect.That(t, reflect.DeepEqual(check.got, check.want), "got %v, want %v", check.got, check.want)
		})
	}
}

// The YAML output is a file that loads to the same configuration.
func TestYAML_loads_again(t *testing.T) {
	for _, path := range goodFiles(t) {
		first := must.Get(Load(path))(t)
		text := must.Get(first.YAML())(t)
		again := mustParse(t, string(text))
		a, b := values(first), values(again)
		expect.That(t, reflect.DeepEqual(a, b), "%s changed when it was loaded again\nfirst: %#v\nagain: %#v", path, a, b)
	}
}

// Judging combines the decisive part of another process with this process's own connections, topics and files.
func TestJudging_S4_6(t *testing.T) {
	own := minimal(t, `kafka: { brokers: [own:9092] }
source: { topic: parcels }
schema_registry: { url: http://own }
transform: { references: [{ name: zones, file: own.csv, column: id }, { name: roads, topic: roads }] }
`)
	for _, path := range goodFiles(t) {
		other := must.Get(Load(path))(t)
		got, err := own.Judging(must.Get(other.YAML())(t))
		if slices.ContainsFunc(other.Transform.References, func(r transform.Reference) bool { return r.File != "" && r.Name != "zones" }) {
			expect.That(t, err != nil, "%s: it has a file that is not known", path)
			continue
		}
		must.That(t, err == nil, "%s: %v", path, err)
		expect.That(t, reflect.DeepEqual(must.Get(got.Decisive())(t), must.Get(other.Decisive())(t)), "%s: the decisive part differs", path)
		expect.That(t, got.Kafka.Brokers[0] == "own:9092" && got.Source.Topic == "parcels" && reflect.DeepEqual(got.Topics, own.Topics), "%s: %+v", path, got)
	}
	for text, want := range map[string]string{
		"transform: { references: [{ name: zones, file: /etc/passwd.csv, column: id }] }": "",
		"transform: { references: [{ name: other, file: /etc/passwd.csv, column: id }] }": `the reference set "other" from a file`,
		"transform: { references: [{ name: roads, file: /etc/passwd.csv, column: id }] }": `the reference set "roads" from a file`,
		"transform: { geometry: { source_crs: 'EPSG:31467', grids: { folder: /etc } } }":  "",
		"source: { format: avro, avro: { schemas: [/etc/passwd.csv] } }":                  "",
		"transform: [": "published pipeline file",
		"unheard: of":  "unheard",
	} {
		got, err := own.Judging([]byte(minimalText + text))
		expect.That(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)), "%s: %v", text, err)
		if err == nil {
			expect.That(t, !strings.Contains(string(must.Get(got.YAML())(t)), "/etc"), "%s: it names the files of the other process", text)
		}
	}
}

// A process without a registry cannot judge like one with a registry.
func TestJudging_S4_6_needsARegistry(t *testing.T) {
	_, err := minimal(t, "").Judging([]byte(minimalText + "schema_registry: { url: 'http://r' }\n"))
	expect.That(t, err != nil && strings.Contains(err.Error(), "it has a schema registry"), "%v", err)
}

const minimalText = `pipeline:
  id: parcels
  retry_policy:
    max_attempts: 5
    base_delay_seconds: 2.0
    retryable_status_codes: [429, 503]
  tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}
`

// minimal parses the smallest valid file with additional text.
func minimal(t *testing.T, more string) *Config {
	t.Helper()
	return mustParse(t, minimalText+more)
}

// env returns an environment of alternating names and values.
func env(settings ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(settings); i += 2 {
			if settings[i] == name {
				return settings[i+1]
			}
		}
		return ""
	}
}

// filled repeats a line with a number until a file has its maximum size.
func filled(before, format, behind string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := 0; ; i++ {
		line := fmt.Sprintf(format, i)
		if b.Len()+len(line)+len(behind) > MaxFileBytes {
			return b.String() + behind
		}
		b.WriteString(line)
	}
}

// S0-1: a hostile file of the maximum size is refused. The first faults are listed, the others are counted.
func TestParse_S0_1_hostile_files_are_refused(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":           strings.Repeat("[", MaxFileBytes),
		"braces":             strings.Repeat("{a: ", MaxFileBytes/4),
		"block lists":        strings.Repeat("- ", MaxFileBytes/2-1) + "a",
		"many keys":          strings.Repeat("a: 1\n", MaxFileBytes/5),
		"too long":           strings.Repeat("a: 1\n", MaxFileBytes),
		"unknown keys":       filled("", "k%d: 1\n", ""),
		"shortest keys":      filled("", "%x:\n", ""),
		"unknown flow keys":  filled("{", "k%d: 1,", "}"),
		"below a mapping":    filled("pipeline:\n", "  k%d: 1\n", ""),
		"in a list":          filled("transform:\n  fields:\n", "    - {x%d: 1}\n", ""),
		"broken entries":     filled("transform:\n  fields:\n", "    - {name: f%d, type: strung}\n", ""),
		"doubled keys":       filled("", "a: 1 # %d\n", ""),
		"aliases":            filled("a: &a [x]\n", "k%d: *a\n", ""),
		"aliases of aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n" + filled("", "k%[1]d: &a%[1]d [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "")[:60000],
		"merge keys":         filled("a: &a {b: 1}\n", "k%d:\n  <<: *a\n", ""),
		"tags":               filled("", "k%d: !!str 1\n", ""),
		"one long key":       filled("", strings.Repeat("k", 60_000)+"%d: 1\n", ""),
		"long keys":          filled("", strings.Repeat("k", 1000)+"%d: 1\n", ""),
		"a key of dots":      strings.Repeat("a.", 32_000) + ": 1",
		"a list of words":    filled("kafka: {brokers: [", "a%d,", "]}"),
		"deep":               strings.Repeat("{a: ", 199) + "1" + strings.Repeat("}", 199),
		"a long text":        filled("pipeline: {id: ", "x%d", "}"),
		"large patterns":     filled("transform:\n  fields:\n", "    - {to: f%d, from: a, type: string, extract: '("+strings.Repeat("x", 900)+"){1000}'}\n", ""),
		"nested patterns":    filled("transform:\n  fields:\n", "    - {to: f%d, from: a, type: string, extract: '(((a{9}){9}){9})'}\n", ""),
		"wide patterns":      filled("transform:\n  fields:\n", "    - {to: f%d, from: a, type: string, extract: '("+strings.Repeat(`[\pL\pN]`, 100)+"){1000}'}\n", ""),
	} {
		_, err := Parse("p.yaml", []byte(text), nil)
		faults, ok := errors.AsType[*Faults](err)
		expect.That(t, ok && len(faults.List) <= maxFaults+1 && len(err.Error()) <= 64<<10, "%v: %d faults in %d bytes", name, len(faults.List), len(err.Error()))
		n := len(faults.List)
		expect.That(t, n <= maxFaults || strings.Contains(faults.List[n-1].Message, "more faults are not listed") && faults.List[n-1].Fix != "", "%v: %+v", name, faults.List[n-1])
	}
}

// FuzzParse checks that any text and any environment result either in faults with positions, or in a configuration that
// can be printed and loads again. It never panics.
func FuzzParse(f *testing.F) {
	files := must.Get(filepath.Glob("testdata/*.yaml"))(f)
	bad := must.Get(filepath.Glob("testdata/bad/*.yaml"))(f)
	for _, path := range append(files, bad...) {
		text := must.Get(os.ReadFile(path))(f)
		f.Add(text, "")
	}
	f.Add([]byte(minimalText), "[{name: a}]")
	f.Add([]byte(minimalText), "a:1,b:2")
	f.Fuzz(func(t *testing.T, text []byte, variable string) {
		lookup := func(name string) string {
			if strings.HasSuffix(name, "BROKERS") || strings.HasSuffix(name, "FIELDS") || strings.HasSuffix(name, "CONSTANTS") {
				return variable
			}
			return ""
		}
		cfg, err := Parse("f.yaml", text, lookup)
		if err == nil {
			checkLegal(t, cfg)
			return
		}
		var faults *Faults
		must.That(t, errors.As(err, &faults) && len(faults.List) != 0, "not faults: %v", err)
		for _, fault := range faults.List {
			expect.That(t, fault.Message != "" && (fault.Variable != "" || fault.Line >= 1 && fault.Column >= 1), "fault without a place or a message: %+v", fault)
		}
	})
}

// checkLegal checks the invariants of every accepted configuration.
func checkLegal(t *testing.T, cfg *Config) {
	t.Helper()
	p := cfg.Pipeline.RetryPolicy
	expect.That(t, p.MaxAttempts >= 1 && p.BaseDelaySeconds > 0 && len(p.Tiers) != 0 && p.BaseDelay() <= p.MaxDelay(), "illegal retry policy was accepted: %+v", p)
	for _, topic := range cfg.allTopics() {
		problem, _ := topicProblem(topic.name)
		expect.That(t, problem == "", "%s: %s", topic.path, problem)
	}
	Warnings(cfg)
	text := must.Get(cfg.YAML())(t)
	_, err := Parse("again.yaml", text, nil)
	expect.That(t, err == nil, "an accepted file does not load again: %v\n%s", err, text)
}

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
		"profile":                  {DLQ{Topic: "payments.DLT", Profile: "prod"}, none, []string{"kafka-1:9093", "kafka-2:9093"}},
		"the environment outranks": {DLQ{Topic: "payments.DLT", Profile: "prod"}, env, []string{"env:1"}},
		"the flag outranks both":   {DLQ{Topic: "payments.DLT", Profile: "prod", Brokers: []string{"flag:1", "flag:2"}}, env, []string{"flag:1", "flag:2"}},
		"no profile":               {DLQ{Topic: "payments.DLT", Brokers: []string{"flag:1"}}, nil, []string{"flag:1"}},
		"the environment alone":    {DLQ{Topic: "payments.DLT"}, env, []string{"env:1"}},
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
	all := messages{}
	defer all.golden(t, "dlq")
	for name, c := range map[string]struct {
		q        DLQ
		profiles string
		want     string
	}{
		"no topic":          {DLQ{Brokers: []string{"a:1"}}, "", "--topic: no DLQ is named"},
		"bad topic":         {DLQ{Topic: "a/b", Brokers: []string{"a:1"}}, "", "--topic: \"a/b\" is not a topic name"},
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
		all.add(name, err)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "pipeline."), "%s: want %q in %v", name, c.want, err)
	}
}

// Without a pipeline file, a flag or the environment names the registry, and the environment has its secrets.
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
