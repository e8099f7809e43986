package numbers

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendFloat appends the shortest form that reads back as f (ECMA-262 section 7.1.12.1, which RFC 8785 uses). It writes
// negative zero as 0.
func AppendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0')
	}
	if short, ok := AppendShort(dst, f); ok {
		return short
	}
	return jsontext.AppendFloat(dst, f, 64)
}

// BeyondDouble reports whether a JSON number is outside of the range of a double. RFC 8259 section 6 calls such numbers
// not interoperable. A number without an exponent needs 309 digits for that.
func BeyondDouble(literal string) bool {
	if len(literal) < 309 && strings.IndexByte(literal, 'e') < 0 && strings.IndexByte(literal, 'E') < 0 {
		return false
	}
	_, err := strconv.ParseFloat(literal, 64)
	return err != nil
}

// AppendCanonical appends the canonical form of a JSON number: its digits without leading or trailing zeros, and a power
// of ten if there is one. Two numbers have the same form exactly when they are equal, whatever their size: 1200, 1.2e3
// and 1200.0 are 12e2, and 9007199254740993 is not 9007199254740992.
func AppendCanonical(dst []byte, literal string) []byte {
	start := len(dst)
	if literal[0] == '-' {
		dst = append(dst, '-')
		literal = literal[1:]
	}
	digits := len(dst)
	mantissa, exponent := literal, int64(0)
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa = literal[:i]
		var err error
		if exponent, err = strconv.ParseInt(literal[i+1:], 10, 64); err != nil || exponent < math.MinInt64/2 {
			// Only a number that is 0 or almost 0 gets here, because a number that is too large was refused. Its own
			// text is its form.
			return append(dst, strings.ToLower(literal)...)
		}
	}
	point := false
	for i := range len(mantissa) {
		switch c := mantissa[i]; {
		case c == '.':
			point = true
			continue
		case c != '0' || len(dst) > digits:
			dst = append(dst, c)
		}
		if point {
			exponent--
		}
	}
	for len(dst) > digits && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
		exponent++
	}
	if len(dst) == digits {
		return append(dst[:start], '0') // there is no negative zero
	}
	if exponent != 0 {
		dst = append(dst, 'e')
		dst = strconv.AppendInt(dst, exponent, 10)
	}
	return dst
}

// Integer returns a JSON number as a whole number, however it is written: 12, 12.0 and 1.2e1. It returns false for a
// fraction and for more than 64 bits.
func Integer(literal string) (int64, bool) {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return i, true
	}
	if !strings.ContainsAny(literal, ".eE") {
		return 0, false
	}
	var buffer [64]byte
	form := string(AppendCanonical(buffer[:0], literal))
	digits, power, found := strings.Cut(form, "e")
	if found {
		zeros, err := strconv.Atoi(power)
		if err != nil || zeros < 0 || zeros > 19 {
			return 0, false
		}
		digits += strings.Repeat("0", zeros)
	}
	if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return i, true
	}
	return 0, false
}

// Double returns the double of a JSON number, which must be within the range of a double.
func Double(literal string) float64 {
	f, _ := strconv.ParseFloat(literal, 64)
	return f
}

// IsWhole reports whether a JSON number is a whole number, of any size.
func IsWhole(literal string) bool {
	_, power, found := cutExponent(string(AppendCanonical(nil, literal)))
	return !found || power[0] != '-'
}
