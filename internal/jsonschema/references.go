package jsonschema

import (
	"fmt"
	"net/url"
)

// given are the schemas to which another one may refer, by their URLs.
type given map[string]any

// Load implements [jsonschema.URLLoader].
func (g given) Load(url string) (any, error) {
	if schema, ok := g[url]; ok {
		return schema, nil
	}
	return nil, fmt.Errorf("it refers to %s, which was not supplied with it: put all definitions into one schema, or register it as a reference", url)
}

// add adds a schema under its name, resolved against the URL of the schema that refers to it, and under its own $id.
func (g given) add(base, name string, schema any) {
	if at, err := url.Parse(base); err == nil {
		if resolved, err := at.Parse(name); err == nil {
			name = resolved.String()
		}
	}
	g[name] = schema
	if id := idOf(schema); id != "" {
		g[id] = schema
	}
}

// idOf returns the absolute $id of a schema, or "".
func idOf(schema any) string {
	object, _ := schema.(map[string]any)
	for _, key := range []string{"$id", "id"} { // draft 4 has no $
		if id, _ := object[key].(string); id != "" {
			if at, err := url.Parse(id); err == nil && at.IsAbs() {
				at.Fragment = ""
				return at.String()
			}
		}
	}
	return ""
}
