package transform

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/transform/internal/times"
)

// isOfType reports whether a value already is of a type. Every value is of the empty type.
func isOfType(v Value, want Type) bool {
	switch want {
	case TypeString:
		return v.Kind() == KindString
	case TypeInteger:
		if v.Kind() != KindNumber {
			return false
		}
		_, ok := numbers.Integer(v.text)
		return ok
	case TypeNumber:
		return v.Kind() == KindNumber
	case TypeBoolean:
		return v.Kind() == KindBoolean
	case TypeDecimal:
		if v.Kind() != KindString {
			return false
		}
		literal, ok := numbers.WithoutExponent(v.text)
		return ok && literal == v.text
	case TypeDate:
		return v.Kind() == KindString && times.IsDate(v.text)
	case TypeDateTime:
		return v.Kind() == KindString && times.IsDateTime(v.text)
	case TypeEnum:
		return v.Kind() == KindString // [fieldRule.fits] checks the words
	case TypeArray:
		return v.Kind() == KindArray
	case TypeObject:
		return v.Kind() == KindObject
	}
	return true
}

// ParseRFC3339 reads a time of RFC 3339, section 5.6: with an offset of at most 23:59.
func ParseRFC3339(text string) (time.Time, error) { return times.ParseRFC3339(text) }

// coerce converts a value that is not null to a type. It returns false where that would require a guess:
//
//	string   from a number (its digits as written) or a boolean
//	integer  from a number or a string that is a whole number within 64 bits: 12, 12.0, "12", " +12 ", "007"
//	number   from a string that is a decimal number within the range of a double: "1.5", "-.5", "1e3"
//	decimal  as number, but a string of digits without exponent: "1234.50" stays "1234.50", 1.5e3 becomes "1500"
//	boolean  from the strings true, false, t, f, yes, no, y, n, 1, 0 in any case, and the numbers 1 and 0
//	enum     as string
//	array, object  from nothing else
//
// [times.Clock] converts dates.
func coerce(v Value, want Type) (Value, bool) {
	switch want {
	case TypeString, TypeEnum:
		return toString(v)
	case TypeDecimal:
		return toDecimal(v)
	case TypeArray, TypeObject:
		return v, isOfType(v, want)
	case TypeInteger:
		return toInteger(v)
	case TypeNumber:
		return toNumber(v)
	case TypeBoolean:
		return toBoolean(v)
	default: // decided below
	}
	return v, true
}

func toString(v Value) (Value, bool) {
	switch v.Kind() {
	case KindString:
		return v, true
	case KindNumber, KindBoolean:
		return StringValue(v.Text()), true
	default: // decided below
	}
	return Value{}, false
}

func toInteger(v Value) (Value, bool) {
	number, ok := toNumber(v)
	if !ok {
		return Value{}, false
	}
	i, ok := numbers.Integer(number.text)
	if !ok {
		return Value{}, false
	}
	// Most integers are already in canonical form and need no new text.
	var buffer [20]byte
	if string(strconv.AppendInt(buffer[:0], i, 10)) == number.text {
		return number, true
	}
	return IntegerValue(i), true
}

func toNumber(v Value) (Value, bool) {
	switch v.Kind() {
	case KindNumber:
		return v, true
	case KindString:
		literal, ok := numbers.FromText(strings.TrimSpace(v.text))
		return Value{token: '0', text: literal}, ok
	default: // decided below
	}
	return Value{}, false
}

func toDecimal(v Value) (Value, bool) {
	number, ok := toNumber(v)
	if !ok {
		return Value{}, false
	}
	literal, ok := numbers.WithoutExponent(number.text)
	return Value{token: '"', text: literal}, ok
}

func toBoolean(v Value) (Value, bool) {
	switch v.Kind() {
	case KindBoolean:
		return v, true
	case KindNumber:
		if i, ok := numbers.Integer(v.text); ok && (i == 0 || i == 1) {
			return BooleanValue(i == 1), true
		}
	case KindString:
		switch strings.ToLower(strings.TrimSpace(v.text)) {
		case "true", "t", "yes", "y", "1":
			return BooleanValue(true), true
		case "false", "f", "no", "n", "0":
			return BooleanValue(false), true
		}
	default: // decided below
	}
	return Value{}, false
}

// sameScalar reports whether a value equals a null word: a string with the same text, the same boolean, or a number with
// the same value.
func sameScalar(v, word Value) bool {
	if v.Kind() != word.Kind() {
		return false
	}
	if v.Kind() == KindNumber {
		var a, b [64]byte
		return bytes.Equal(numbers.AppendCanonical(a[:0], v.text), numbers.AppendCanonical(b[:0], word.text))
	}
	return v.token == word.token && v.text == word.text
}
