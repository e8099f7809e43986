package config

import (
	"reflect"
)

// Decode reads one strict YAML document of another kind than a pipeline file, such as a scenario of `consumer simulate`,
// into a struct whose fields have the tags of this package: yaml, jsonschema, least, most. into is a pointer to it; its
// defaults are filled in. check, which may be nil, is called when every value could be read; it reports what is wrong
// beyond the form of one value, path being in the form providers[0].latency. The error is a [*Faults] that lists everything.
//
// The environment overrides nothing here: what such a file says, it says for everybody.
func Decode(name string, text []byte, into any, check func(fault func(path, message, fix string))) error {
	d := &decoder{faults: &Faults{Name: name}, origins: newOrigins(), foreign: true}
	root := reflect.ValueOf(into).Elem()
	if !d.document(text, root) {
		return d.faults.err()
	}
	d.missing("", root)
	if check != nil && len(d.faults.List) == 0 {
		check(func(path, message, fix string) {
			at := d.origins.near(path)
			d.fault(path, at.line, at.column, message, fix)
		})
	}
	return d.faults.err()
}
