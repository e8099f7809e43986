package transform

import (
	"math"
	"strconv"
)

// Most ordinates have few digits. For those, reading and writing need no more
// than one division, and are exact for the same reason: a decimal of up to 15
// digits is told from every other one by the double nearest to it (IEEE 754-2008
// section 5.12.2: 15 digits survive the way there and back), and a whole number
// below 2^53 divided by a power of ten up to 10^22 is that double, as both are
// exact and division rounds once (W. D. Clinger, How to read floating point
// numbers accurately, 1990).

// shortBytes is more than a short number has bytes.
const shortBytes = 40

// maxExact is the first whole number with more than 15 digits.
const maxExact = 1e15

// appendShort appends f in its shortest form when it has up to 7 decimals, or up
// to 15 digits of which 10 are decimals. It is false when f may be longer, or is
// written with an exponent.
func appendShort(dst []byte, f float64) ([]byte, bool) {
	size := math.Abs(f)
	if !(size >= 1e-6 && size < 1e7) {
		return dst, false
	}
	decimals := 7
	units := uint64(size*1e7 + 0.5) // any rounding will do: it is checked
	if float64(units)/1e7 != size {
		decimals = 10
		if units = uint64(size*1e10 + 0.5); units >= maxExact || float64(units)/1e10 != size {
			return dst, false
		}
	}
	if f < 0 {
		dst = append(dst, '-')
	}
	return appendFixed(dst, units, decimals), true
}

// digitPairs are the numbers from 00 to 99.
const digitPairs = "00010203040506070809101112131415161718192021222324" +
	"25262728293031323334353637383940414243444546474849" +
	"50515253545556575859606162636465666768697071727374" +
	"75767778798081828384858687888990919293949596979899"

// appendFixed appends units / 10^decimals without zeros at its end.
func appendFixed(dst []byte, units uint64, decimals int) []byte {
	for decimals > 0 && units%10 == 0 {
		units /= 10
		decimals--
	}
	if decimals == 0 {
		return strconv.AppendUint(dst, units, 10)
	}
	var digits [24]byte
	at := len(digits)
	if decimals&1 == 1 {
		at--
		digits[at] = byte('0' + units%10)
		units /= 10
		decimals--
	}
	for ; decimals > 0; decimals -= 2 {
		at -= 2
		pair := units % 100 * 2
		units /= 100
		digits[at], digits[at+1] = digitPairs[pair], digitPairs[pair+1]
	}
	at--
	digits[at] = '.'
	for units >= 10 {
		at--
		digits[at] = byte('0' + units%10)
		units /= 10
	}
	at--
	digits[at] = byte('0' + units)
	return append(dst, digits[at:]...)
}

// scanShort reads a JSON number of up to 15 digits without exponent at the start
// of text, and returns what follows. It is false for anything else.
func scanShort(text []byte) (f float64, rest []byte, ok bool) {
	i := 0
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		i++
	}
	whole := i
	units := uint64(0)
	for i < len(text) && text[i]-'0' <= 9 {
		units = units*10 + uint64(text[i]-'0')
		i++
	}
	digits := i - whole
	if digits == 0 || digits > 15 || digits > 1 && text[whole] == '0' {
		return 0, nil, false
	}
	decimals := 0
	if i < len(text) && text[i] == '.' {
		i++
		point := i
		for i < len(text) && text[i]-'0' <= 9 {
			if units < maxExact {
				units = units*10 + uint64(text[i]-'0')
			}
			i++
		}
		if decimals = i - point; decimals == 0 {
			return 0, nil, false
		}
	}
	if units >= maxExact || decimals > 15 || i < len(text) && text[i]|0x20 == 'e' {
		return 0, nil, false
	}
	f = float64(units) / math.Pow10(decimals)
	if negative && units != 0 {
		f = -f
	}
	return f, text[i:], true
}
