package config

import (
	"reflect"
)

// applyDefaults writes the defaults of the tags into v and all that is below it.
func applyDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for _, k := range keysOf(v.Type()) {
		field := v.Field(k.index)
		switch {
		case len(k.rules.defaults) == 0:
			applyDefaults(field)
		case field.Kind() == reflect.Slice:
			list := reflect.MakeSlice(field.Type(), len(k.rules.defaults), len(k.rules.defaults))
			for i, text := range k.rules.defaults {
				set(list.Index(i), written{variableValue, text}, rules{})
			}
			field.Set(list)
		default:
			// TestDefaults_every_default_is_legal proves that this leaves no fault.
			set(field, written{variableValue, k.rules.defaults[0]}, rules{})
		}
	}
}
