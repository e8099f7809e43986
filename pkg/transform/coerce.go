package transform

import (
	"bytes"
	"strconv"
	"strings"
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
		_, ok := parseInteger(v.text)
		return ok
	case TypeNumber:
		return v.Kind() == KindNumber
	case TypeBoolean:
		return v.Kind() == KindBoolean
	case TypeDecimal:
		if v.Kind() != KindString {
			return false
		}
		literal, ok := decimalLiteral(v.text)
		return ok && literal == v.text
	case TypeDate:
		return v.Kind() == KindString && isDate(v.text)
	case TypeDateTime:
		return v.Kind() == KindString && isDateTime(v.text)
	case TypeEnum:
		return v.Kind() == KindString // [fieldRule.fits] checks the words
	case TypeArray:
		return v.Kind() == KindArray
	case TypeObject:
		return v.Kind() == KindObject
	}
	return true
}

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
// [clock] converts dates.
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
	i, ok := parseInteger(number.text)
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
		literal, ok := numberLiteral(strings.TrimSpace(v.text))
		return Value{token: '0', text: literal}, ok
	default: // decided below
	}
	return Value{}, false
}

// maxDecimalDigits bounds the zeros that an exponent expands to.
const maxDecimalDigits = 400

func toDecimal(v Value) (Value, bool) {
	number, ok := toNumber(v)
	if !ok {
		return Value{}, false
	}
	literal, ok := decimalLiteral(number.text)
	return Value{token: '"', text: literal}, ok
}

// decimalLiteral writes a JSON number without its exponent. It keeps the digits after the point, including zeros at the
// end, because they tell how exact the number is. It returns false if the text is not a number or has too many digits.
func decimalLiteral(text string) (string, bool) {
	literal, ok := numberLiteral(text)
	if !ok {
		return "", false
	}
	mantissa, power, found := cutExponent(literal)
	if !found {
		return literal, true
	}
	shift, err := strconv.Atoi(power)
	if err != nil || shift > maxDecimalDigits || shift < -maxDecimalDigits {
		return "", false
	}
	unsigned, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	if shift >= 0 {
		fraction += strings.Repeat("0", max(0, shift-len(fraction)))
		whole, fraction = whole+fraction[:shift], fraction[shift:]
	} else {
		whole = strings.Repeat("0", max(0, 1-shift-len(whole))) + whole
		point := len(whole) + shift
		whole, fraction = whole[:point], whole[point:]+fraction
	}
	whole = strings.TrimLeft(whole, "0")
	setDefault(&whole, "0")
	if negative {
		whole = "-" + whole
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole, true
}

// cutExponent cuts a number at its e.
func cutExponent(literal string) (mantissa, power string, found bool) {
	i := strings.IndexAny(literal, "eE")
	if i < 0 {
		return literal, "", false
	}
	return literal[:i], literal[i+1:], true
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
	default: // decided below
	}
	return Value{}, false
}

// maxNumberText is the length of the longest string that is read as a number.
const maxNumberText = 400

// numberLiteral converts a decimal number, as people and other formats write it, to a JSON number of the same value:
// without a plus sign, without leading zeros, with a digit before the point. It refuses hexadecimal numbers, infinity,
// NaN and digit separators.
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
			return "", false // "1." is probably a typing error
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

// digitsOf cuts off the leading digits.
func digitsOf(text string) (digits, rest string) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

// isExponent reports whether text is empty or an exponent.
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

// sameScalar reports whether a value equals a null word: a string with the same text, the same boolean, or a number with
// the same value.
func sameScalar(v, word Value) bool {
	if v.Kind() != word.Kind() {
		return false
	}
	if v.Kind() == KindNumber {
		var a, b [64]byte
		return bytes.Equal(appendDecimal(a[:0], v.text), appendDecimal(b[:0], word.text))
	}
	return v.token == word.token && v.text == word.text
}
