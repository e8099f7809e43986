package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// variablePrefix is the prefix of every environment variable that overrides a key.
const variablePrefix = "SWITCHBACK_"

// testPrefix is the prefix of the variables of the project's own tests. They override no key, and no command reads them.
const testPrefix = variablePrefix + "TEST_"

// OtherVariables returns the environment variables that begin with SWITCHBACK_ and override no key of the file.
// Variables that *_env keys name, and variables that begin with SWITCHBACK_TEST_, are also legal.
func OtherVariables() []string {
	return []string{
		"SWITCHBACK_REPLAY_KEY",  // a secret: the keys that sign replays; see internal/proof
		"SWITCHBACK_CONFIG",      // the path of the pipeline file; see internal/cli
		"SWITCHBACK_KAFKA_IMAGE", // for the project's tests: the image of the broker's container
	}
}

// Variable returns the name of the environment variable that overrides a key: SWITCHBACK_ENRICH_0_HTTP_URL for
// enrich[0].http.url.
func Variable(path string) string {
	return variablePrefix + strings.Map(func(r rune) rune {
		switch r {
		case '.', '[':
			return '_'
		case ']':
			return -1
		}
		return unicode.ToUpper(r)
	}, path)
}

// environment overrides keys with the values of environment variables.
type environment struct {
	lookup func(string) string
	names  []string               // variables that are set and begin with the prefix; nil if they cannot be listed
	known  map[string]bool        // variables of the keys of this file, and variables that *_env keys name
	flags  map[string]commandFlag // flags that take precedence over variables
}

// commandFlag is a command-line flag and its value, or "" if the flag is not set.
type commandFlag struct{ name, value string }

// connecting makes flags take precedence over variables, and returns e. It hides all variables except those for Kafka
// and the schema registry, because a variable that names topics must not change the selected DLQ.
func (e *environment) connecting(flags map[string]commandFlag) *environment {
	e.flags = flags
	lookup := e.lookup
	e.lookup = func(name string) string {
		if f := flags[name]; f.value != "" {
			return f.value
		}
		if strings.HasPrefix(name, Variable("kafka.")) || strings.HasPrefix(name, Variable("schema_registry.")) {
			return lookup(name)
		}
		return ""
	}
	return e
}

func newEnvironment(lookup func(string) string, environ []string) *environment {
	if lookup == nil {
		lookup = func(string) string { return "" }
	}
	e := &environment{lookup: lookup, known: map[string]bool{}}
	for _, setting := range environ {
		name, value, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, variablePrefix) && !strings.HasPrefix(name, testPrefix) && value != "" {
			e.names = append(e.names, name)
		}
	}
	return e
}

// apply overrides every key below v that has a variable. It overrides a list, or a mapping with free keys, as a whole
// before the entries.
func (e *environment) apply(d *decoder, v reflect.Value) { e.walk(d, "", v, rules{}) }

func (e *environment) walk(d *decoder, path string, v reflect.Value, r rules) {
	switch {
	case v.Kind() == reflect.Pointer:
		e.walkPointer(d, path, v, r)
	case v.Kind() == reflect.Struct:
		for _, k := range keysOf(v.Type()) {
			child := join(path, k.name)
			e.walk(d, child, v.Field(k.index), k.rules())
		}
	default:
		e.override(d, path, v, r)
		if strings.HasSuffix(path, "_env") {
			e.known[v.String()] = true // the value is the name of a variable
		}
		if v.Kind() == reflect.Slice && !isScalar(v.Type().Elem()) {
			for i := range v.Len() {
				e.walk(d, entry(path, i), v.Index(i), rules{})
			}
		}
	}
}

// walkPointer creates an absent mapping only if a variable sets a key in it.
func (e *environment) walkPointer(d *decoder, path string, v reflect.Value, r rules) {
	if !v.IsNil() {
		e.walk(d, path, v.Elem(), r)
		return
	}
	target := reflect.New(v.Type().Elem())
	applyDefaults(target.Elem())
	e.walk(d, path, target.Elem(), r)
	if d.origins.written(path) {
		v.Set(target)
	}
}

// override decodes the variable of one key, if the variable is set.
func (e *environment) override(d *decoder, path string, v reflect.Value, r rules) {
	name := Variable(path)
	e.known[name] = true
	text := e.lookup(name)
	if text == "" {
		return
	}
	if text == `""` {
		text = ""
	}
	outer, isFlag := d.variable, e.flags[name].value != ""
	if isFlag {
		name = e.flags[name].name
	}
	d.variable = name
	defer func() { d.variable = outer }()
	d.forget(path)
	d.origins.note(path, place{variable: name})
	switch {
	case isScalar(v.Type()):
		d.scalar(path, 0, 0, written{variableValue, text}, v, r)
	case v.Kind() == reflect.Slice && isScalar(v.Type().Elem()) && (isFlag || !strings.HasPrefix(strings.TrimSpace(text), "[")):
		d.commaList(path, text, v, r)
	default:
		d.flow(path, text, v, r)
	}
}

// forget removes the positions of path and the keys below it, because a variable replaces all of them.
func (d *decoder) forget(path string) {
	for p := range d.origins.places {
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			delete(d.origins.places, p)
		}
	}
}

// commaList decodes a,b,c into a list.
func (d *decoder) commaList(path, text string, v reflect.Value, r rules) {
	items := strings.Split(text, ",")
	if text == "" {
		items = nil
	}
	out := makeList(v.Type(), len(items))
	for i, item := range items {
		child := entry(path, i)
		d.origins.note(child, place{variable: d.variable})
		item = strings.TrimSpace(item)
		if item == "" {
			d.fault(child, 0, 0, "is empty", "write the entries separated by single commas")
			continue
		}
		d.scalar(child, 0, 0, written{variableValue, item}, out.Index(i), r.ofElement())
	}
	v.Set(out)
	d.checkList(path, 0, 0, out, r)
}

// flow decodes the YAML value of a variable, such as [{name: place, ...}].
func (d *decoder) flow(path, text string, v reflect.Value, r rules) {
	node := readDocument([]byte(text), func(_, _ int, message, _ string) {
		d.fault(path, 0, 0, message, "write it as YAML in flow style, as [{name: a}, {name: b}]")
	})
	if node != nil {
		d.value(path, node, v, r)
	}
}

// unknown reports variables that begin with the prefix and override no key.
func (e *environment) unknown(faults *Faults) {
	for _, name := range e.names {
		if !e.known[name] && !slices.Contains(OtherVariables(), name) {
			faults.add(Fault{Variable: name, Message: "overrides no key", Fix: e.instead(name)})
		}
	}
}

// instead returns the fix for a variable that overrides no key.
func (e *environment) instead(name string) string {
	if strings.HasPrefix(name, Variable("kafka.sasl")) && isSecretName(name) {
		return "a secret has a variable of your choice: set " + Variable("kafka.sasl.password_env") + " to its name"
	}
	known := slices.Sorted(maps.Keys(e.known))
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "unset it, or use the path of a key, as in " + Variable("kafka.brokers")
}
