package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// compiled compiles the schemas of the OpenAPI document, in which no object has members that it does not name.
func compiled(t *testing.T, d *desk) func(path string, ok bool) *jsonschema.Schema {
	t.Helper()
	w := d.get("/api/openapi.json")
	text := w.Body.Bytes()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must.That(t, err == nil && w.Code == http.StatusOK, "%d %s: %v", w.Code, text, err)
	for _, s := range doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		s.(map[string]any)["additionalProperties"] = false
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	must.Do(t, c.AddResource("openapi.json", doc))
	return func(path string, ok bool) *jsonschema.Schema {
		t.Helper()
		status := "default"
		if ok {
			status = "200"
		}
		place := "openapi.json#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/get/responses/" + status + "/content/application~1json/schema"
		place = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(place)
		s, err := c.Compile(place)
		must.Do(t, err)
		return s
	}
}

// The document is generated from the Go types; the answers are those of the console.
func TestOpenAPI_S4_6_is_what_the_console_answers(t *testing.T) {
	other := func(c *header.Control) { c.HasSource, c.BBox = false, "" }
	binary := letter("b", 1, other)
	binary.Key, binary.Value = []byte{0xff}, []byte{0xfe}
	d := newDesk(t, letter("a", 0), binary, letter("c", 2), replaying("c", "fix-1"), event("a", "op", 0))
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(d.writer), topics.Plan(d.configure())))(t)
	schema := compiled(t, d)
	asked := map[string][]string{
		"/api/stats": {""}, "/api/groups": {"", "?id=nobody"}, "/api/dead-letters": {"", "?limit=1", "?id=nobody"}, "/api/dead-letters/{id}": {"a", "b", "c"},
		"/api/replays": {""}, "/api/replays/{id}": {"fix-1"}, "/api/replays/{id}/dead-letters": {"fix-1"}, "/api/flow": {""}, "/api/audit": {"", "?dead_letter=nobody", "?operations=true"}, "/api/map": {"", "?id=nobody"},
	}
	for _, r := range routes() {
		if r.answerType == nil {
			continue
		}
		for _, of := range asked[r.path] {
			path := r.path + of
			if strings.Contains(r.path, "{id}") {
				path = strings.ReplaceAll(r.path, "{id}", of)
			}
			w := d.get(path)
			answer, err := jsonschema.UnmarshalJSON(w.Body)
			must.That(t, err == nil && w.Code == http.StatusOK, "%s: %d, %v", path, w.Code, err)
			expect.Do(t, schema(r.path, true).Validate(answer), path)
		}
		expect.That(t, len(asked[r.path]) != 0, "%s was not asked", r.path)
		answer, err := jsonschema.UnmarshalJSON(d.get(strings.ReplaceAll(r.path, "{id}", "nobody") + "?nonsense=1").Body)
		must.Do(t, err)
		expect.Do(t, schema(r.path, false).Validate(answer), r.path)
	}
}

// Each parameter that a route takes is in the document, and nothing else.
func TestOpenAPI_S4_6_names_every_parameter(t *testing.T) {
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct{ Name, In, Description string }
			}
		}
	}
	must.Do(t, json.Unmarshal(document(routes()), &doc))
	for _, r := range routes() {
		var named []string
		for _, p := range doc.Paths[r.path].Get.Parameters {
			if p.In == "query" {
				named = append(named, p.Name)
			}
			expect.That(t, p.In != "query" || p.Description != "", "%s: %s is not described", r.path, p.Name)
		}
		expect.Equal(t, strings.Join(named, ", "), r.names(), r.path)
	}
	expect.Equal(t, len(doc.Paths), len(routes()), "paths")
}
