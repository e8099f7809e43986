package transform

import (
	"fmt"
	"regexp"

	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
	"github.com/switchback-geo/switchback/pkg/transform/internal/times"
	"github.com/switchback-geo/switchback/pkg/transform/internal/units"
)

// fieldRule is a compiled [Field]: its words are checked, default and null words are values, patterns and expressions
// are compiled.
type fieldRule struct {
	Field
	place    string // "fields[2]"
	nulls    []Value
	fallback Value // for OnErrorDefault
	steps    bool  // there is a step between null words and type
	program  *expression.Program[expression.Field]
	pattern  *regexp.Regexp
	table    map[string]Value
	clock    *times.Clock
	units    *units.Conversion
	keys     Set
}

// compileFields compiles the rules and records their faults.
func compileFields(fields []Field, sets map[string]Set, faults *faultList) []fieldRule {
	rules := make([]fieldRule, len(fields))
	writers := make(map[string]string, len(rules))
	var patterns patternBudget
	for i, field := range fields {
		rule := &rules[i]
		*rule = fieldRule{Field: field, place: fmt.Sprintf("fields[%d]", i)}
		setDefault(&rule.OnError, OnErrorReject)
		if field.To == "" {
			faults.add(rule.place+".to", "the rule writes no field", "name the property to write")
		} else if writer, taken := writers[field.To]; taken {
			faults.add(rule.place+".to", fmt.Sprintf("%s writes %q already", writer, field.To), "name another property, or remove one rule")
		} else {
			writers[field.To] = rule.place
		}
		if field.Type != "" {
			checkWord(faults, rule.place+".type", field.Type, Types())
		}
		compileSource(rule, faults)
		compileSteps(rule, sets, &patterns, faults)
		compileOnError(rule, faults)
		compileNulls(rule, faults)
		checkReachable(rule, faults)
	}
	return rules
}

// compileOnError checks on_error against required and default.
func compileOnError(rule *fieldRule, faults *faultList) {
	checkWord(faults, rule.place+".on_error", rule.OnError, OnErrors())
	switch {
	case rule.OnError == OnErrorNull && rule.Required:
		faults.add(rule.place+".on_error", "a required field cannot become null", "write reject or default, or drop required")
	case rule.OnError == OnErrorDefault && rule.Default == nil:
		faults.add(rule.place+".default", "on_error: default has no default", "add default: and its value")
	case rule.OnError != OnErrorDefault && rule.Default != nil:
		faults.add(rule.place+".default", "the default is never used", "add on_error: default, or remove it")
	case rule.OnError == OnErrorDefault:
		compileDefault(rule, faults)
	}
}

// compileDefault checks that the default is of the field's type.
func compileDefault(rule *fieldRule, faults *faultList) {
	value, err := ValueOf(rule.Default)
	if err != nil {
		faults.add(rule.place+".default", err.Error(), "write a string, a number, true or false, a list or a map")
		return
	}
	if !rule.fits(value) {
		faults.add(rule.place+".default", fmt.Sprintf("the default is no %s", rule.Type), "write one, or change the type")
	}
	rule.fallback = value
}

// compileNulls converts the null words to values.
func compileNulls(rule *fieldRule, faults *faultList) {
	for i, word := range rule.NullValues {
		value, err := ValueOf(word)
		if err == nil && (value.Kind() == KindArray || value.Kind() == KindObject) {
			err = fmt.Errorf("a null word cannot be a list or a map")
		}
		if err != nil {
			faults.add(fmt.Sprintf("%s.null_values[%d]", rule.place, i), err.Error(), "write a string, a number, true or false")
			continue
		}
		rule.nulls = append(rule.nulls, value)
	}
}

// compileConstants converts the constants to members, sorted by name.
func compileConstants(config Config, faults *faultList) []Member {
	members := make([]Member, 0, len(config.Constants))
	for _, name := range sortedKeys(config.Constants) {
		place := "constants." + name
		if name == "" {
			faults.add("constants", "a constant has no name", "name the property to write")
		}
		for i, field := range config.Fields {
			if field.To == name {
				faults.add(place, fmt.Sprintf("fields[%d] writes %q already", i, name), "name another property, or remove the constant")
			}
		}
		value, err := ValueOf(config.Constants[name])
		if err != nil {
			faults.add(place, err.Error(), "write a string, a number, true or false, a list or a map")
			continue
		}
		members = append(members, Member{name, value})
	}
	return members
}
