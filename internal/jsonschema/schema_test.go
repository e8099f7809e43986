package jsonschema

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The first field that does not satisfy a schema is named.
func TestCheck_C4_namesTheField(t *testing.T) {
	s := must.Get(CompileRegistered([]byte(`{"type":"object","required":["status"],"properties":{"status":{"enum":["PENDING","PAID"]},"lines":{"items":{"type":"object","properties":{"cents":{"type":"integer","minimum":0}}}}}}`)))(t)
	for value, says := range map[string]string{
		`{"status":"PAID","lines":[{"cents":9007199254740993}]}`: "",
		`{"status":"OPEN"}`: "/status: value must be one of",
		`{"lines":[]}`:      "/: missing property 'status'",
		`{"status":"PAID","lines":[{"cents":-1}]}`:  "/lines/0/cents: minimum",
		`{"status":"PAID","lines":[{"cents":1.5}]}`: "/lines/0/cents: got number, want integer",
		`[]`:                       "/: got array, want object",
		`{"status":`:               "no JSON",
		`{"status":"PAID"} x`:      "no JSON",
		`{"status":1e-2000000000}`: "/status: its exponent",
		`{"lines":[{"cents":1e9999999999999999999}]}`: "/lines/0/cents: its exponent",
	} {
		err := s.Check([]byte(value))
		expect.That(t, (err == nil) == (says == "") && (err == nil || strings.Contains(err.Error(), says)), "%s: %v", value, err)
	}
}

// A schema can refer to the schemas that were passed with it, by a relative name, an absolute one or the other's $id,
// and to nothing else.
func TestCompile_C4_references(t *testing.T) {
	status := `{"$id":"https://example.com/status.json","enum":["PAID"]}`
	for name, schema := range map[string]string{
		"status.json":                     `{"properties":{"status":{"$ref":"status.json"}}}`,
		"status":                          `{"$id":"https://example.com/payment.json","properties":{"status":{"$ref":"status"}}}`,
		"https://example.com/status.json": `{"properties":{"status":{"$ref":"https://example.com/status.json"}}}`,
		"any":                             `{"$schema":"http://json-schema.org/draft-04/schema#","id":"https://example.com/payment.json","properties":{"status":{"$ref":"status.json"}}}`,
	} {
		s, err := CompileRegistered([]byte(schema), Reference{name, status})
		must.That(t, err == nil, "%s: %v", name, err)
		expect.That(t, s.Check([]byte(`{"status":"PAID"}`)) == nil && s.Check([]byte(`{"status":"OPEN"}`)) != nil, "%s does not count", name)
	}
}

func TestCompile_C4_refusesHostileSchemas(t *testing.T) {
	for schema, says := range map[string]string{
		`{"$ref":"file:///etc/passwd"}`:            "file:///etc/passwd, which was not supplied",
		`{"$ref":"http://169.254.169.254"}`:        "which was not supplied",
		`{"$ref":"#/nowhere"}`:                     "nowhere",
		`{"minimum":1e1000000000}`:                 "/minimum: its exponent",
		`{"pattern":"(?=a)"}`:                      "",
		`{"type":"strung"}`:                        "type",
		`{`:                                        "no JSON",
		`"` + strings.Repeat("x", maxSchema) + `"`: "bytes",
		`{"items":` + strings.Repeat(`{"items":`, 20000) + `1}`:   "",
		`{"$schema":"https://example.com/mine","type":"integer"}`: "which was not supplied",
	} {
		_, err := Compile([]byte(schema))
		expect.That(t, err != nil && strings.Contains(err.Error(), says), "%.60s: %v", schema, err)
	}
	loop := must.Get(Compile([]byte(`{"$ref":"#"}`)))(t)
	expect.That(t, loop.Check([]byte(`1`)) != nil, "a schema that is itself is satisfied")
}
