package numbers

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Most ordinates have few digits. Reading and writing them needs no more than one division, and is exact for the same
// reason: the nearest double identifies a decimal of up to 15 digits (IEEE 754-2008 section 5.12.2), and a whole number
// below 2^53 divided by a power of ten up to 10^22 is that double, because both are exact and division rounds once (W.
// D. Clinger, How to read floating point numbers accurately, 1990).

// ShortBytes is longer than any short number.
const ShortBytes = 40

// maxExact is the first whole number with more than 15 digits.
const maxExact = 1e15

// AppendShort appends f in its shortest form if it has up to 7 decimals, or up to 15 digits of which 10 are decimals. It
// returns false if f may be longer or needs an exponent.
func AppendShort(dst []byte, f float64) ([]byte, bool) {
	size := math.Abs(f)
	if !(size >= 1e-6 && size < 1e7) {
		return dst, false
	}
	decimals := 7
	units := uint64(size*1e7 + 0.5) // any rounding is fine, because it is checked
	if float64(units)/1e7 != size {
		decimals = 10
		if units = uint64(size*1e10 + 0.5); units >= maxExact || float64(units)/1e10 != size {
			return dst, false
		}
	}
	if f < 0 {
		dst = append(dst, '-')
	}
	if decimals == 7 {
		return appendSeven(dst, units), true
	}
	return appendFixed(dst, units, decimals), true
}

// appendSeven appends units / 10^7, below 10^7, without zeros at its end.
func appendSeven(dst []byte, units uint64) []byte {
	whole, rest := uint32(units/1e7), uint32(units%1e7) //nolint:gosec // both are below 10^7
	switch {
	case whole < 10:
		dst = append(dst, byte('0'+whole))
	case whole < 100:
		dst = append(dst, digitPairs[2*whole], digitPairs[2*whole+1])
	case whole < 1000:
		pair := 2 * (whole % 100)
		dst = append(dst, byte('0'+whole/100), digitPairs[pair], digitPairs[pair+1])
	default:
		dst = strconv.AppendUint(dst, uint64(whole), 10)
	}
	if rest == 0 {
		return dst
	}
	first, second, third, last := rest/1e6, 2*(rest/1e4%100), 2*(rest/100%100), 2*(rest%100)
	dst = append(dst, '.', byte('0'+first), digitPairs[second], digitPairs[second+1],
		digitPairs[third], digitPairs[third+1], digitPairs[last], digitPairs[last+1])
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
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

// ScanShort reads a JSON number of up to 15 digits without exponent at the start of text, and returns the rest. It
// returns false for any other text.
func ScanShort(text []byte) (f float64, rest []byte, ok bool) {
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
		if n, ok := eightDigits(text[i:]); ok && digits <= 7 {
			units = units*1e8 + n
			i += 8
		}
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

// eightDigits reads eight digits at the start of text at once. The eight bytes are one word; each digit is checked and
// added to its neighbour, then each pair, then both halves (D. Lemire, Number parsing at a gigabyte per second, 2021).
func eightDigits(text []byte) (n uint64, ok bool) {
	if len(text) < 8 {
		return 0, false
	}
	word := binary.LittleEndian.Uint64(text)
	const zeros, high = 0x3030303030303030, 0xf0f0f0f0f0f0f0f0
	if word&high|(word+0x0606060606060606)&high>>4 != zeros|zeros>>4 {
		return 0, false
	}
	word -= zeros
	word = word*10 + word>>8
	const pairs = 0x000000ff000000ff
	return (word&pairs*(100+1e6<<32) + word>>16&pairs*(1+1e4<<32)) >> 32, true
}
