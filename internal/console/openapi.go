package console

import (
	"encoding/json"
	"reflect"
	"strings"
)

// document generates the OpenAPI document from the table of routes.
func document(all []route) []byte {
	s := schemas{}
	failure, paths := s.of(reflect.TypeFor[ErrorAnswer]()), object{}
	for _, r := range all {
		content := object{"application/octet-stream": object{}}
		if r.answerType != nil {
			content = object{"application/json": object{"schema": s.of(r.answerType)}}
		}
		paths[r.path] = object{"get": object{
			"summary": r.summary, "parameters": r.parameters(),
			"responses": object{
				"200":     object{"description": "The answer", "content": content},
				"default": object{"description": "Why there is no answer", "content": object{"application/json": object{"schema": failure}}},
			},
		}}
	}
	text, _ := json.MarshalIndent(object{ // maps, lists and texts can be encoded
		"openapi":    "3.1.0",
		"info":       object{"title": "Switchback console", "version": "0", "description": "Dead letters, read-only. Until 1.0.0 it may change."},
		"paths":      paths,
		"components": object{"schemas": s, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
		"security":   []object{{}, {"token": []string{}}}, // without --access nobody signs in
	}, "", "  ")
	return append(text, '\n')
}

// parameters describes the parameters of a route.
func (r route) parameters() []object {
	out := []object{}
	if strings.Contains(r.path, "{id}") {
		out = append(out, object{"name": "id", "in": "path", "required": true, "schema": object{"type": text}})
	}
	for _, p := range r.params {
		schema := object{"type": p.kind}
		if p.many {
			schema = object{"type": "array", "items": schema}
		}
		out = append(out, object{"name": p.name, "in": "query", "description": p.about, "schema": schema})
	}
	return out
}
