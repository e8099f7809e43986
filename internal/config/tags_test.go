package config

import (
	"reflect"
	"testing"
)

// A default that breaks the limits of its own key would only show in a file that spells it out.
func TestDefaults_every_default_is_legal(t *testing.T) {
	walkType("", reflect.TypeFor[Config](), func(path string, k key) {
		typ, r := k.typ, k.rules
		if typ.Kind() == reflect.Slice {
			typ, r = typ.Elem(), r.ofElement()
		}
		for _, text := range k.rules.defaults {
			v := reflect.New(typ).Elem()
			if message, _ := set(v, written{variableValue, text}, r); message != "" {
				t.Errorf("%s: default %s: %s", path, text, message)
			} else if message, _ := r.check(v); message != "" {
				t.Errorf("%s: default %s: %s", path, text, message)
			}
		}
	})
}
