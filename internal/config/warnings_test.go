package config

import (
	"strings"
	"testing"
)

func TestWarnings_say_what_is_legal_and_not_wise(t *testing.T) {
	const sasl = "kafka: {sasl: {mechanism: %, username: u, password_env: P}}\n"
	const mapped = "transform: {unmapped: drop, fields: [{from: PARZ_ID, to: parcel_id}, {from: owner, to: owner, type: object}]}\n"
	for name, c := range map[string]struct{ file, path, part string }{
		"S0-9 halts on nothing":   {strings.Replace(minimalText, "invalid: false", "invalid: true", 1) + "transform: {geometry: {validity: flag}}\n", "pipeline.tolerance.halt_on_geometry_invalid", "lets pass"},
		"password in the clear":   {minimalText + strings.Replace(sasl, "%", "PLAIN", 1), "kafka.sasl.mechanism", "in the clear"},
		"SCRAM without TLS":       {minimalText + strings.Replace(sasl, "%", "SCRAM-SHA-256", 1), "kafka.sasl.mechanism", "without TLS"},
		"registry over http":      {minimalText + "schema_registry: {url: \"http://registry:8081\", token_env: T}\n", "schema_registry.url", "in the clear"},
		"one copy, three brokers": {minimalText + "kafka: {brokers: [\"a:1\", \"b:1\", \"c:1\"]}\n", "topics.replication_factor", "one copy"},
		"inner address":           {minimalText + "enrich: [{name: a, http: {url: \"http://10.0.0.1/\"}, set: {a: /a}}]\n", "enrich[0].http.url", "not a public address"},
		"a name of the source":    {minimalText + mapped + "enrich: [{name: a, http: {url: \"https://a.example/?id={properties.PARZ_ID}\"}, set: {a: /a}}]\n", "enrich[0].http.url", "every feature fails"},
		"a name of a later step":  {minimalText + mapped + "enrich: [{name: a, http: {url: \"https://a.example/{properties.b}\"}, set: {a: /a}}, {name: b, http: {url: \"https://a.example/{properties.a}\"}, set: {b: /b}}]\n", "enrich[0].http.url", "{properties.b}"},
		"this machine":            {minimalText + "enrich: [{name: a, providers: [{name: b, http: {url: \"http://localhost:80?x\"}}], set: {a: /a}}]\n", "enrich[0].providers[0].http.url", "localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Warnings(mustParse(t, c.file))
			if len(got) != 1 || got[0].Path != c.path || !strings.Contains(got[0].Message, c.part) || got[0].Line < 1 || got[0].Fix == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
	for name, file := range map[string]string{
		"nothing": minimalText,
		"names of the mapped feature": minimalText + mapped +
			"enrich: [{name: a, http: {url: \"https://a.example/{id}/{properties.parcel_id}?o={properties.owner.name}\"}, set: {a: /a}}, {name: b, http: {url: \"https://a.example/{properties.a}\"}, set: {b: /b}}]\n",
		"what is unmapped is kept": minimalText + strings.Replace(mapped, "drop", "keep", 1) + "enrich: [{name: a, http: {url: \"https://a.example/{properties.X}\"}, set: {a: /a}}]\n",
		"no fields":                minimalText + "enrich: [{name: a, http: {url: \"https://a.example/{properties.X}\"}, set: {a: /a}}]\n",
	} {
		if got := Warnings(mustParse(t, file)); len(got) != 0 {
			t.Errorf("%s: nothing to warn of, got %+v", name, got)
		}
	}
}
