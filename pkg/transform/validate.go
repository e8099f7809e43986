package transform

import (
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// Validate checks a mapped feature after enrichment: the required fields of the target exist and are not null, and every
// field with a type has a value of it. The errors are [*Error] of the validate stage.
func (t *Transformer) Validate(f *Feature) error {
	for i := range t.fields {
		rule := &t.fields[i]
		value := lookupExact(f.Properties, rule.To)
		switch {
		case value == nil && rule.Required && !t.isFlattened(f, rule):
			return t.unfit(f, rule, classify.CodeMissingRequired, RuleRequired, "the required field "+strconv.Quote(shorten.Text(rule.To))+" is missing", "")
		case value == nil:
		case value.IsNull() && rule.Required:
			return t.unfit(f, rule, classify.CodeMissingRequired, RuleRequired, "the required field "+strconv.Quote(shorten.Text(rule.To))+" is null", "")
		case !value.IsNull() && !rule.fits(*value):
			return t.unfit(f, rule, classify.CodeWrongType, RuleFieldType, "the field "+strconv.Quote(shorten.Text(rule.To))+" is a "+
				string(value.Kind())+", not of type "+string(rule.Type), shorten.Text(value.AppendJSON(nil)))
		}
	}
	return nil
}

// lookupExact finds a property by its exact name.
func lookupExact(members []Member, name string) *Value {
	for i := range members {
		if members[i].Name == name {
			return &members[i].Value
		}
	}
	return nil
}

// isFlattened reports whether a field without a type was an object that is now written under flat names.
func (t *Transformer) isFlattened(f *Feature, rule *fieldRule) bool {
	if t.config.Flatten == nil || rule.Type != "" && rule.Type != TypeObject && rule.Type != TypeArray {
		return false
	}
	for i := range f.Properties {
		if strings.HasPrefix(f.Properties[i].Name, rule.To+t.config.Flatten.Separator) {
			return true
		}
	}
	return false
}

// unfit returns an error of the validate stage.
func (t *Transformer) unfit(f *Feature, rule *fieldRule, code classify.Code, broken Rule, message, value string) *Error {
	return &Error{Code: code, Stage: classify.StageValidate, Rule: string(broken), Path: propertyPointer(rule.To), Value: value,
		RuleLine: t.config.Lines[rule.place], Message: message, Fix: "see " + rule.place + " and the enrichment that writes it", Feature: f.IDString()}
}
