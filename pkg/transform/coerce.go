package transform

import (
	"strconv"
	"strings"
)

// isOfType reports whether a value is of a type already. The empty type is any.
func isOfType(v Value, want Type) bool {
	switch want {
	case TypeString:
		return v.Kind() == KindString
	case TypeInteger:
		if v.Kind() != KindNumber {
			return false
		}
		_, ok := parseInteger(v.text)
		return ok
	case TypeNumber:
		return v.Kind() == KindNumber
	case TypeBoolean:
		return v.Kind() == KindBoolean
	}
	return true
}

// coerce brings a value that is not null to a type. It is false where that
// would need a guess:
//
//	string   from a number (its digits as written) or a boolean
//	integer  from a number or a string that is a whole number within 64 bits: 12, 12.0, "12", " +12 ", "007"
//	number   from a string that is a decimal number within the range of a double: "1.5", "-.5", "1e3"
//	boolean  from the strings true, false, t, f, yes, no, y, n, 1, 0 in any case, and the numbers 1 and 0
func coerce(v Value, want Type) (Value, bool) {
	switch want {
	case TypeString:
		return toString(v)
	case TypeInteger:
		return toInteger(v)
	case TypeNumber:
		return toNumber(v)
	case TypeBoolean:
		return toBoolean(v)
	}
	return v, true
}

func toString(v Value) (Value, bool) {
	switch v.Kind() {
	case KindString:
		return v, true
	case KindNumber, KindBoolean:
		return StringValue(v.Text()), true
	}
	return Value{}, false
}

func toInteger(v Value) (Value, bool) {
	number, ok := toNumber(v)
	if !ok {
		return Value{}, false
	}
	i, ok := parseInteger(number.text)
	if !ok {
		return Value{}, false
	}
	// Most integers are written as they should be, and need no new text.
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
		literal, ok := numberLiteral(strings.TrimSpace(v.text))
		return Value{token: '0', text: literal}, ok
	}
	return Value{}, false
}

func toBoolean(v Value) (Value, bool) {
	switch v.Kind() {
	case KindBoolean:
		return v, true
	case KindNumber:
		if i, ok := parseInteger(v.text); ok && (i == 0 || i == 1) {
			return BooleanValue(i == 1), true
		}
	case KindString:
		switch strings.ToLower(strings.TrimSpace(v.text)) {
		case "true", "t", "yes", "y", "1":
			return BooleanValue(true), true
		case "false", "f", "no", "n", "0":
			return BooleanValue(false), true
		}
	}
	return Value{}, false
}

// maxNumberText is the length of the longest string that is taken for a number.
const maxNumberText = 400

// numberLiteral turns a decimal number, as people and other formats write it,
// into a JSON number of the same value: without a plus sign, without leading
// zeros, with a digit before the point. Hexadecimal, infinity, NaN and digit
// separators are no decimal numbers.
func numberLiteral(text string) (string, bool) {
	if len(text) > maxNumberText {
		return "", false
	}
	unsigned, negative := strings.CutPrefix(text, "-")
	if !negative {
		unsigned = strings.TrimPrefix(text, "+")
	}
	whole, rest := digitsOf(unsigned)
	fraction := ""
	if after, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = digitsOf(after); fraction == "" && whole != "" {
			return "", false // "1." is a slip of the pen
		}
	}
	if whole == "" && fraction == "" || !isExponent(rest) {
		return "", false
	}
	if len(whole) > 0 && (whole[0] != '0' || whole == "0") && len(unsigned) == len(text) && !beyondDouble(text) {
		return text, true // it is a JSON number as it stands
	}
	whole = strings.TrimLeft(whole, "0")
	setDefault(&whole, "0")
	literal := whole
	if negative {
		literal = "-" + literal
	}
	if fraction != "" {
		literal += "." + fraction
	}
	literal += rest
	return literal, !beyondDouble(literal)
}

// digitsOf cuts the leading digits off.
func digitsOf(text string) (digits, rest string) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

// isExponent reports whether text is nothing, or an exponent.
func isExponent(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return false
	}
	text = text[1:]
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	digits, rest := digitsOf(text)
	return digits != "" && rest == ""
}

// sameScalar reports whether a value is a null word: a string of the same text,
// a boolean, or a number of the same value.
func sameScalar(v, word Value) bool {
	if v.Kind() != word.Kind() {
		return false
	}
	if v.Kind() == KindNumber {
		var a, b [64]byte
		return string(appendDecimal(a[:0], v.text)) == string(appendDecimal(b[:0], word.text))
	}
	return v.token == word.token && v.text == word.text
}
