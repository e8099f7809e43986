package transform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// convert runs a value that is not null through the steps of a rule. The error has no stage and no rule yet.
func (rule *fieldRule) convert(v Value) (Value, *Error) {
	if rule.steps {
		var e *Error
		if v, e = rule.replaced(v); e != nil || v.IsNull() {
			return v, e
		}
	}
	v, e := rule.typed(v)
	if e != nil {
		return v, e
	}
	if rule.Unique {
		if e = itemTwice(v); e != nil {
			return v, e
		}
	}
	if rule.units != nil {
		if v, e = rule.converted(v); e != nil {
			return v, e
		}
	}
	if rule.References != nil {
		e = rule.resolve(v)
	}
	return v, e
}

// itemTwice returns an error if an array has an item twice, by its canonical form.
func itemTwice(v Value) *Error {
	first := make(map[string]int, len(v.Items()))
	for i, item := range v.Items() {
		form := string(appendCanonical(nil, item))
		if before, twice := first[form]; twice {
			return &Error{Code: classify.CodeValueNotAllowed, Message: "the array has its item " + decimal(before) + " again as item " + decimal(i) + ", counted from 0",
				Fix: "send each item once, or set on_error"}
		}
		first[form] = i
	}
	return nil
}

// isNull reports whether a value is one of the rule's null words.
func (rule *fieldRule) isNull(v Value) bool {
	for _, word := range rule.nulls {
		if sameScalar(v, word) {
			return true
		}
	}
	return v.IsNull()
}

// replaced runs the steps extract and map.
func (rule *fieldRule) replaced(v Value) (Value, *Error) {
	if rule.pattern != nil {
		found := []string(nil)
		if kind := v.Kind(); kind != KindArray && kind != KindObject {
			found = rule.pattern.FindStringSubmatch(v.Text())
		}
		if found == nil {
			return v, &Error{Code: classify.CodeCoercionFailed, Message: "the value does not match " + strconv.Quote(shorten.Text(rule.Extract)),
				Fix: "fix the source or the rule's extract, or set on_error"}
		}
		if v = StringValue(found[1]); rule.isNull(v) {
			return NullValue(), nil
		}
	}
	if rule.table == nil {
		return v, nil
	}
	mapped, listed := rule.table[v.Text()]
	switch kind := v.Kind(); {
	case kind == KindArray || kind == KindObject:
	case listed:
		return mapped, nil
	}
	if rule.Unlisted == UnlistedKeep {
		return v, nil
	}
	return v, &Error{Code: classify.CodeValueNotAllowed, Message: "the value is not in the rule's map",
		Fix: "add it to map, set unlisted: keep, or set on_error"}
}

// typed coerces a value to the rule's type.
func (rule *fieldRule) typed(v Value) (Value, *Error) {
	if rule.Type == TypeDate || rule.Type == TypeDateTime {
		read := rule.clock.Date
		if rule.Type == TypeDateTime {
			read = rule.clock.DateTime
		}
		out, err := read(v.Text())
		if err != nil {
			return v, &Error{Code: classify.CodeCoercionFailed, Message: "the " + string(v.Kind()) + " cannot become a field of type " +
				string(rule.Type) + ": " + err.Error(), Fix: "fix the source, extend the rule's formats or set its time_zone, or set on_error"}
		}
		return StringValue(out), nil
	}
	if (rule.Thousands != "" || rule.Decimal != "") && v.Kind() == KindString {
		plain, ok := rule.written().Plain(v.text)
		if !ok {
			return v, &Error{Code: classify.CodeCoercionFailed, Message: "the string is not a number as the rule's thousands and decimal describe it",
				Fix: "fix the source or the rule's thousands and decimal, list the value under null_values, or set on_error"}
		}
		v = StringValue(plain)
	}
	out, ok := coerce(v, rule.Type)
	switch {
	case !ok && isNumberType(rule.Type) && v.Kind() == KindString && numbers.IsSeparated(v.text):
		return v, &Error{Code: classify.CodeCoercionFailed, Message: "the string cannot become a field of type " + string(rule.Type),
			Fix: "set the rule's thousands and decimal to how the source writes numbers, fix the source, or set on_error"}
	case !ok && rule.Type == TypeInteger && isTooLong(v):
		return v, &Error{Code: classify.CodeNumberPrecision, Message: "the whole number has more than 64 bits", Fix: "use type: decimal or string, or set on_error"}
	case !ok:
		return v, &Error{Code: classify.CodeCoercionFailed, Message: "the " + string(v.Kind()) + " cannot become a field of type " + string(rule.Type),
			Fix: coercionHint(v, rule.Type) + "fix the source, list the value under null_values, or set on_error"}
	case rule.Type == TypeEnum && !slices.Contains(rule.Values, out.text):
		return v, &Error{Code: classify.CodeValueNotAllowed, Message: "the value is none of the rule's values",
			Fix: "send one of " + shorten.Text(quoteList(rule.Values)) + ", map it, or set on_error"}
	}
	return out, nil
}

// coercionHint names the key of the rule that would read such a text.
func coercionHint(v Value, t Type) string {
	digits := strings.ContainsAny(v.text, "0123456789")
	switch {
	case v.Kind() == KindString && t == TypeBoolean:
		return "give the meaning of the word in the rule's map (map: {ja: true, nein: false}), "
	case v.Kind() == KindString && isNumberType(t) && digits:
		return "extract the number from the text with the rule's extract,"
	}
	return ""
}

// written returns how the source of the rule writes numbers.
func (rule *fieldRule) written() numbers.Written {
	return numbers.Written{Thousands: rule.Thousands, Decimal: rule.Decimal}
}

func isNumberType(t Type) bool { return t == TypeInteger || t == TypeNumber || t == TypeDecimal }

// isTooLong reports whether a value is a whole number that does not fit 64 bits.
func isTooLong(v Value) bool {
	number, ok := toNumber(v)
	if !ok {
		return false
	}
	return numbers.IsWhole(number.text)
}

// fits reports whether a value already is of the rule's type.
func (rule *fieldRule) fits(v Value) bool {
	return isOfType(v, rule.Type) && (rule.Type != TypeEnum || slices.Contains(rule.Values, v.text))
}

// converted converts units.
func (rule *fieldRule) converted(v Value) (Value, *Error) {
	x := numbers.Double(v.text)
	out := NumberValue(rule.units.Convert(x))
	if out.IsNull() {
		return v, &Error{Code: classify.CodeNumberRange, Message: "the number in " + rule.Units.To + " is beyond a double", Fix: "fix the source, or set on_error"}
	}
	return out, nil
}

// resolve looks up a foreign key.
func (rule *fieldRule) resolve(v Value) *Error {
	key := v.Text()
	set := strconv.Quote(rule.References.Set)
	switch {
	case key == "" && rule.References.Mandatory: // S0-9: it has a separate code, so that a pipeline can be paused for it
		return &Error{Code: classify.CodeForeignKeyEmpty, Message: "the foreign key into " + set + " is an empty text",
			Fix: "send a key of the set, or null for none"}
	case !rule.keys.Has(key):
		return &Error{Code: classify.CodeForeignKeyUnresolved, Message: "the foreign key is not a key of " + set,
			Fix: "send a key of the set, or add it to the set"}
	}
	return nil
}

// isMandatory reports whether an error refuses the feature whatever the value of on_error: that is the case for a
// mandatory foreign key.
func (rule *fieldRule) isMandatory(e *Error) bool {
	return rule.References != nil && rule.References.Mandatory &&
		(e.Code == classify.CodeForeignKeyEmpty || e.Code == classify.CodeForeignKeyUnresolved)
}
