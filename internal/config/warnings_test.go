package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func TestWarnings_say_what_is_legal_and_not_wise(t *testing.T) {
	all := messages{}
	defer all.golden(t, "warnings")
	const rates = "max_null_rate: 1, max_dead_letter_rate: 1, max_transient_rate: 1"
	tolerating := func(keys, rest string) string {
		return strings.Replace(minimalText, "max_null_rate: 1", keys, 1) + rest
	}
	const rounded, floor = "transform: {geometry: {round_decimals: 6}}\n", "max_null_rate: 1, precision_decimal_threshold: 6"
	const versioned = "source: {version: properties.rev, version_form: number}\n"
	const sasl = "kafka: {sasl: {mechanism: %, username: u, password_env: P}}\n"
	const mapped = "transform: {unmapped: drop, fields: [{from: PARZ_ID, to: parcel_id}, {from: owner, to: owner, type: object}]}\n"
	for name, c := range map[string]struct{ file, path, part string }{
		"S0-9 halts on nothing":         {strings.Replace(minimalText, "invalid: false", "invalid: true", 1) + "transform: {geometry: {validity: flag}}\n", "pipeline.tolerance.halt_on_geometry_invalid", "lets pass"},
		"S0-9 no field to count":        {tolerating("max_null_rate: 0.005", ""), "pipeline.tolerance.max_null_rate", "counts nothing"},
		"S0-9 required fields":          {tolerating("max_null_rate: 0.005", "transform: {fields: [{from: a, to: a, required: true}]}\n"), "pipeline.tolerance.max_null_rate", "counts nothing"},
		"a window of no rate":           {tolerating(rates+", window: 5m", ""), "pipeline.tolerance.window", "has no effect"},
		"records of no rate":            {tolerating(rates+", min_records: 5", ""), "pipeline.tolerance.min_records", "has no effect"},
		"no batch is judged":            {tolerating("max_null_rate: 1, max_dead_letter_rate: 1, on_batch: hold", ""), "pipeline.tolerance.on_batch", "has no effect"},
		"holds on no floor":             {tolerating("max_null_rate: 1, hold_on: [precision_degraded]", ""), "pipeline.tolerance.hold_on[0]", "neither"},
		"holds on no key":               {tolerating("max_null_rate: 1, hold_on: [foreign_key_empty]", ""), "pipeline.tolerance.hold_on[0]", "mandatory references"},
		"holds on no reference":         {tolerating("max_null_rate: 1, hold_on: [foreign_key_unresolved]", ""), "pipeline.tolerance.hold_on[0]", "no field"},
		"holds on no service":           {tolerating("max_null_rate: 1, hold_on: [http_forbidden]", ""), "pipeline.tolerance.hold_on[0]", "by HTTP"},
		"holds on simplicity":           {tolerating("max_null_rate: 1, hold_on: [geometry_not_simple]", ""), "pipeline.tolerance.hold_on[0]", "simplicity"},
		"holds on a flag":               {tolerating("max_null_rate: 1, hold_on: [geometry_invalid]", "transform: {geometry: {validity: flag, output_validity: flag}}\n"), "pipeline.tolerance.hold_on[0]", "with a flag"},
		"S0-9 a file that rounds":       {tolerating(floor, ""), "pipeline.tolerance.precision_decimal_threshold", "does not round"},
		"S0-9 floor that halts nothing": {tolerating(floor+", hold_on: []", rounded), "pipeline.tolerance.precision_decimal_threshold", "pauses nothing"},
		"S0-9 rounded below the floor":  {tolerating(floor, strings.Replace(rounded, "6", "3", 1)), "transform.geometry.round_decimals", "fewer decimals"},
		"S0-9 decimals of a metre":      {tolerating(floor, "transform: {geometry: {source_crs: \"EPSG:2056\", round_decimals: 6}}\n"), "pipeline.tolerance.precision_decimal_threshold", "of a metre"},
		"S0-9 each by itself":           {tolerating("max_null_rate: 1, min_decimals: 5", ""), "pipeline.tolerance.min_decimals", "by itself"},
		"S0-9 coarse ones pass":         {tolerating("max_null_rate: 1, min_decimals: 5", "transform: {geometry: {coarse: accept}}\n"), "pipeline.tolerance.min_decimals", "no effect"},
		"S0-8 numbers of any size":      {minimalText + "source: {version: properties.rev}\n", "source.version", "no limit"},
		"S0-8 a limit of no time":       {minimalText + "source: {version: properties.rev, version_form: number, max_version_ahead: 2h}\n", "source.max_version_ahead", "no times"},
		"S0-8 a limit of nothing":       {minimalText + "source: {max_version_ahead: 2h}\n", "source.max_version_ahead", "no effect"},
		"S0-8 a form of nothing":        {minimalText + "source: {version_form: rfc3339}\n", "source.version_form", "no effect"},
		"S0-6 versions are forgotten":   {minimalText + versioned + "dedupe: {window: 0s}\nordering: {versions: {keep: window}}\n", "ordering.versions.keep", "only while a record of the key waits"},
		"S0-6 forgotten in time":        {minimalText + versioned + "dedupe: {window: 2h}\nordering: {versions: {keep: window}}\n", "ordering.versions.keep", "(2h)"},
		"S0-6 kept of no version":       {minimalText + "ordering: {versions: {keep: window}}\n", "ordering.versions.keep", "no property orders"},
		"S0-6 keys of no version":       {minimalText + "ordering: {versions: {max_keys: 5}}\n", "ordering.versions.max_keys", "no property orders"},
		"S0-6 kept of no order":         {minimalText + "ordering: {mode: none, versions: {max_keys: 5}}\n", "ordering.versions.max_keys", "mode: none"},
		"S0-6 versions of no order":     {minimalText + versioned + "ordering: {mode: none}\n", "ordering.mode", "versions are not compared"},
		"S0-6 versions in strict order": {minimalText + versioned + "ordering: {mode: strict}\n", "ordering.mode", "only replays are held to it"},
		"S0-6 no keys":                  {minimalText + "source: {null_keys: accept}\n", "source.null_keys", "in no order"},
		"S0-6 at least once":            {minimalText + "delivery: at_least_once\n", "delivery", "delivered again"},
		"password in the clear":         {minimalText + strings.Replace(sasl, "%", "PLAIN", 1), "kafka.sasl.mechanism", "in the clear"},
		"SCRAM without TLS":             {minimalText + strings.Replace(sasl, "%", "SCRAM-SHA-256", 1), "kafka.sasl.mechanism", "without TLS"},
		"registry over http":            {minimalText + "schema_registry: {url: \"http://registry:8081\", token_env: T}\n", "schema_registry.url", "in the clear"},
		"one copy, three brokers":       {minimalText + "kafka: {brokers: [\"a:1\", \"b:1\", \"c:1\"]}\n", "topics.replication_factor", "one copy"},
		"inner address":                 {minimalText + "enrich: [{name: a, http: {url: \"http://10.0.0.1/\"}, set: {a: /a}}]\n", "enrich[0].http.url", "not a public address"},
		"a name of the source":          {minimalText + mapped + "enrich: [{name: a, http: {url: \"https://a.example/?id={properties.PARZ_ID}\"}, set: {a: /a}}]\n", "enrich[0].http.url", "every feature fails"},
		"a name of a later step":        {minimalText + mapped + "enrich: [{name: a, http: {url: \"https://a.example/{properties.b}\"}, set: {a: /a}}, {name: b, http: {url: \"https://a.example/{properties.a}\"}, set: {b: /b}}]\n", "enrich[0].http.url", "{properties.b}"},
		"this machine":                  {minimalText + "enrich: [{name: a, providers: [{name: b, http: {url: \"http://localhost:80?x\"}}], set: {a: /a}}]\n", "enrich[0].providers[0].http.url", "localhost"},
	} {
		got := Warnings(mustParse(t, c.file))
		all.add(name, &Faults{Name: "p.yaml", List: got})
		expect.That(t, len(got) == 1 && got[0].Path == c.path && strings.Contains(got[0].Message, c.part) && got[0].Line >= 1 && got[0].Fix != "", "%v: got %+v", name, got)
	}
	for name, file := range map[string]string{
		"nothing":         minimalText,
		"S0-8 times":      minimalText + "source: {version: properties.rev, version_form: rfc3339, max_version_ahead: 2h}\n",
		"S0-6 window off": minimalText + versioned + "dedupe: {window: 0s}\n", // duplicates and order are two settings
		"S0-6 no order":   minimalText + "ordering: {mode: none}\nsource: {null_keys: accept}\ndelivery: at_least_once\n",
		"S0-8 revisions":  minimalText + "source: {version: properties.rev, version_form: number}\n",
		"S0-9 a floor":    tolerating(floor, rounded),
		"S0-9 fields":     tolerating("max_null_rate: 0.005", "transform: {fields: [{from: a, to: a}]}\n"),
		"codes in effect": tolerating("max_null_rate: 1, precision_decimal_threshold: 6, hold_on: [precision_degraded, foreign_key_empty, http_forbidden, geometry_invalid]", "transform: {geometry: {round_decimals: 6}, references: [{name: z, file: z.csv, column: c}], fields: [{from: a, to: a, references: {set: z, mandatory: true}}]}\nenrich: [{name: a, http: {url: \"https://a.example/\"}, set: {a: /a}}]\n"),
		"names of the mapped feature": minimalText + mapped +
			"enrich: [{name: a, http: {url: \"https://a.example/{id}/{properties.parcel_id}?o={properties.owner.name}\"}, set: {a: /a}}, {name: b, http: {url: \"https://a.example/{properties.a}\"}, set: {b: /b}}]\n",
		"what is unmapped is kept": minimalText + strings.Replace(mapped, "drop", "keep", 1) + "enrich: [{name: a, http: {url: \"https://a.example/{properties.X}\"}, set: {a: /a}}]\n",
		"no fields":                minimalText + "enrich: [{name: a, http: {url: \"https://a.example/{properties.X}\"}, set: {a: /a}}]\n",
	} {
		got := Warnings(mustParse(t, file))
		expect.That(t, len(got) == 0, "%s: nothing to warn of, got %+v", name, got)
	}
}

func TestParse_S0_9_whatAFileIsRoundedTo(t *testing.T) {
	for name, c := range map[string]struct {
		floor, rounded string
		want           int
	}{
		"neither":                {"", "", 6},
		"the document's own":     {"6", "", 6},
		"more than the default":  {"8", "", 8},
		"fewer":                  {"3", "", 6},
		"none":                   {"0", "", 6},
		"fewer, and both":        {"3", "3", 3},
		"rounding alone":         {"", "3", 3},
		"whole numbers":          {"", "0", 0},
		"coarser than the floor": {"6", "2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			text := minimalText
			if c.floor != "" {
				text = strings.Replace(text, "max_null_rate: 1", "max_null_rate: 1, precision_decimal_threshold: "+c.floor, 1)
			}
			if c.rounded != "" {
				text += "transform: {geometry: {round_decimals: " + c.rounded + "}}\n"
			}
			cfg := mustParse(t, text)
			expect.Equal(t, *cfg.Transform.Geometry.RoundDecimals, c.want)
			expect.That(t, c.floor == "" || fmt.Sprint(cfg.Pipeline.Tolerance.PrecisionDecimalThreshold) == c.floor, "floor %d", cfg.Pipeline.Tolerance.PrecisionDecimalThreshold)
		})
	}
}

func TestNearest_aBeginningThatFitsOneWord(t *testing.T) {
	words := []string{"coercion_failed", "geometry_invalid", "geometry_empty"}
	for name, want := range map[string]string{"coercion": "coercion_failed", "COERC": "coercion_failed", "geometry": "", "co": "", "": "", strings.Repeat("c", 100): ""} {
		expect.Equal(t, Nearest(name, words), want, name)
	}
}

func TestMapping_names_the_line_of_each_rule(t *testing.T) {
	cfg := mustParse(t, `pipeline:
  id: parcels
  retry_policy: {max_attempts: 1, base_delay_seconds: 1, retryable_status_codes: [503]}
  tolerance: {max_null_rate: 0, halt_on_geometry_invalid: false}
transform:
  fields:
    - {to: a}
    - to: n
      type: integer
`)
	transformer, err := transform.New(cfg.Mapping())
	must.Do(t, err)
	_, err = transformer.Apply(t.Context(), []byte(`{"type":"Feature","geometry":null,"properties":{"n":"x"}}`))
	var failed *transform.Error
	expect.That(t, errors.As(err, &failed) && failed.RuleLine == 8, "got %+v", failed)
}

// The figures of both documents are presets; what is written by hand goes before them.
func TestBreakerPresets_S4_5_S3_5(t *testing.T) {
	minute, half := Duration(time.Minute), Duration(30*time.Second)
	for written, want := range map[string]Breaker{
		"{}":                  {Preset: BreakerSteady, Failures: 5, FailureRate: 0.5, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{preset: standard}":  {Preset: BreakerStandard, Failures: 5, Window: minute, Cooldown: half, Successes: 2},
		"{preset: patient}":   {Preset: BreakerPatient, Failures: 3, Window: 5 * minute, Cooldown: 5 * minute, Successes: 1},
		"{failures: 3}":       {Preset: BreakerSteady, Failures: 3, FailureRate: 0.5, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{failure_rate: 0.9}": {Preset: BreakerSteady, Failures: 5, FailureRate: 0.9, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{preset: patient, failure_rate: 0.5, cooldown: 1m}": {
			Preset: BreakerPatient, Failures: 3, FailureRate: 0.5, Window: 5 * minute, Cooldown: minute, Successes: 1,
		},
	} {
		cfg := must.Get(Parse("p.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
enrich: [{name: place, http: {url: "http://h/", breaker: `+written+`}, set: {a: /a}}]
`), nil))(t)
		expect.Equal(t, *cfg.Enrich[0].HTTP.Breaker, want, written)
	}
}

func TestBreaker_opensAfterSoManyFailuresInARow(t *testing.T) {
	for _, c := range []struct {
		b    Breaker
		want int
	}{{Breaker{Failures: 5}, 5}, {Breaker{Failures: 5, FailureRate: 0.5, Among: 20}, 10}, {Breaker{Failures: 5, FailureRate: 0.55, Among: 5}, 5}} {
		expect.Equal(t, c.b.Opens(), c.want, c.b, "opens after")
	}
}
