package idempotency

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrNumberRange is wrapped by the error of [Canonical] for a number beyond
// the range of a double, which RFC 8785 has no form for.
var ErrNumberRange = errors.New("number beyond the range of a double")

// Canonical returns the canonical form of one JSON value (RFC 8785, with
// integers exact beyond 2^53: see the package documentation). The input is not
// modified. An error means that the text is not strict JSON (a duplicate
// member, invalid UTF-8 or a lone surrogate, trailing data, nesting deeper than
// 10,000) or that a number is out of range ([ErrNumberRange]).
func Canonical(json []byte) ([]byte, error) {
	negativeZero, err := scan(json)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	value := jsontext.Value(slices.Clone(json))
	if err := value.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	if negativeZero {
		return withoutNegativeZero(value), nil
	}
	return value, nil
}

// scan walks the tokens once before anything is copied: it checks the range of
// every number (jsontext would saturate it in silence) and reports whether an
// integer literal is -0, which RFC 8785 writes as 0 and jsontext, told to keep
// integers, would keep.
func scan(json []byte) (negativeZero bool, err error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(json))
	for {
		switch decoder.PeekKind() {
		case '0':
			literal, err := decoder.ReadValue()
			if err != nil {
				return false, err
			}
			if _, err := strconv.ParseFloat(string(literal), 64); err != nil && !isInteger(literal) {
				return false, fmt.Errorf("%w at %q, byte %d", ErrNumberRange, decoder.StackPointer(), decoder.InputOffset())
			}
			negativeZero = negativeZero || string(literal) == "-0"
		default:
			_, err := decoder.ReadToken()
			if errors.Is(err, io.EOF) {
				return negativeZero, nil
			}
			if err != nil {
				return false, err
			}
		}
	}
}

// isInteger reports whether a number literal has neither fraction nor exponent.
func isInteger(literal []byte) bool {
	return !bytes.ContainsAny(literal, ".eE")
}

// withoutNegativeZero writes the integer -0 of canonical JSON as 0. In
// canonical text a number follows '[', ',' or ':' or begins the text, and ends
// at ',', ']', '}' or the end; a -0 inside a string is passed over.
func withoutNegativeZero(canonical []byte) []byte {
	out := canonical[:0]
	inString := false
	for i := 0; i < len(canonical); i++ {
		c := canonical[i]
		switch {
		case inString && c == '\\':
			out = append(out, c, canonical[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
		case !inString && c == '-' && isZeroAt(canonical, i+1):
			continue
		}
		out = append(out, c)
	}
	return out
}

// isZeroAt reports whether the number that begins at i is the single digit 0
// and not 0.5, and not the exponent of 1e-07 (which canonical text never has:
// its exponents have no leading zero).
func isZeroAt(canonical []byte, i int) bool {
	if i >= len(canonical) || canonical[i] != '0' {
		return false
	}
	return i+1 == len(canonical) || strings.IndexByte(",]}", canonical[i+1]) >= 0
}
