package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// prefix names the algorithm in the text form, so that a later one can be distinguished.
const prefix = "sha256:"

// ErrMalformed is wrapped by every error of [Parse].
var ErrMalformed = errors.New("malformed content hash")

// Hash is a SHA-256 content hash: the deterministic identifier of a retryable operation (S2-4). The zero value is not
// the hash of any content.
type Hash [sha256.Size]byte

// Of hashes the parts in their order. The length of each part precedes it, so that moving a byte from one part to the
// next changes the hash: Of("ab", "c") and Of("a", "bc") differ, and so do Of() and Of("").
func Of(parts ...[]byte) Hash {
	digest := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		digest.Write(length[:])
		digest.Write(part)
	}
	var h Hash
	digest.Sum(h[:0])
	return h
}

// String returns the text form, "sha256:" and 64 lower-case hexadecimal
// digits, as the header switchback-content-hash carries it.
func (h Hash) String() string {
	var text [len(prefix) + 2*len(h)]byte
	hex.Encode(text[copy(text[:], prefix):], h[:])
	return string(text[:])
}

// Parse reads the text form. It accepts exactly what [Hash.String] writes. Upper-case digits, another algorithm or
// another length are errors that wrap [ErrMalformed], because one content must have one text.
func Parse(text string) (Hash, error) {
	digits, found := strings.CutPrefix(text, prefix)
	if !found {
		return Hash{}, fmt.Errorf("%w: it does not begin with %q", ErrMalformed, prefix)
	}
	if want := hex.EncodedLen(len(Hash{})); len(digits) != want {
		return Hash{}, fmt.Errorf("%w: %d digits after %q, want %d", ErrMalformed, len(digits), prefix, want)
	}
	var h Hash
	faults := byte(0)
	for i := range h {
		high, low := nibbles[digits[2*i]], nibbles[digits[2*i+1]]
		h[i] = high<<4 | low
		faults |= high | low
	}
	if faults > 0xf {
		return Hash{}, fmt.Errorf("%w: %q are not all lower case hexadecimal digits", ErrMalformed, digits)
	}
	return h, nil
}

// nibbles has the value of each lower-case hexadecimal digit, and 0xff for every other byte. encoding/hex would also
// accept upper case, and needs a copy of the text. Every event that takes effect is parsed here, so the loop above
// has no branches.
const nibbles = x16 + x16 + x16 + "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09" + x6 +
	x16 + x16 + x1 + "\x0a\x0b\x0c\x0d\x0e\x0f" + x8 + x1 + x16 +
	x16 + x16 + x16 + x16 + x16 + x16 + x16 + x16

// Runs of bytes that are not digits.
const (
	x1  = "\xff"
	x6  = x1 + x1 + x1 + x1 + x1 + x1
	x8  = x6 + x1 + x1
	x16 = x8 + x8
)
