package numbers

import (
	"strconv"
	"strings"
)

// maxNumberText is the length of the longest string that is read as a number.
const maxNumberText = 400

// FromText converts a decimal number, as people and other formats write it, to a JSON number of the same value:
// without a plus sign, without leading zeros, with a digit before the point. It refuses hexadecimal numbers, infinity,
// NaN and digit separators.
func FromText(text string) (string, bool) {
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
	if len(whole) > 0 && (whole[0] != '0' || whole == "0") && len(unsigned) == len(text) && !BeyondDouble(text) {
		return text, true // it is a JSON number as it stands
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	literal := whole
	if negative {
		literal = "-" + literal
	}
	if fraction != "" {
		literal += "." + fraction
	}
	literal += rest
	return literal, !BeyondDouble(literal)
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

// maxDecimalDigits bounds the zeros that an exponent expands to.
const maxDecimalDigits = 400

// WithoutExponent writes a JSON number without its exponent. It keeps the digits after the point, including zeros at the
// end, because they tell how exact the number is. It returns false if the text is not a number or has too many digits.
func WithoutExponent(text string) (string, bool) {
	literal, ok := FromText(text)
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
	if whole == "" {
		whole = "0"
	}
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
