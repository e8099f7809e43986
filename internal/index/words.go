package index

import (
	"hash/fnv"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// A signature says of a few letters what cannot stand in them (a Bloom filter): it has a bit for
// each four bytes that follow each other in what a text is looked for in, and some for each
// header and the id of the feature. Letters whose signature lacks a bit that is asked for are
// passed over; the others are looked at, since bits coincide.
const (
	signatureBytes   = 2048 // a power of two
	signatureLetters = 64   // that share one: the text of a single one would set too few of its bits
	gramBytes        = 4
	bitsOfName       = 6
)

// signature is signatureBytes long.
type signature []byte

func (s signature) set(bit uint16)      { s[bit>>3] |= 1 << (bit & 7) }
func (s signature) has(bit uint16) bool { return s[bit>>3]&(1<<(bit&7)) != 0 }

func (s signature) hasAll(bits []uint16) bool {
	for _, bit := range bits {
		if !s.has(bit) {
			return false
		}
	}
	return true
}

// join takes over the bits of another one.
func (s signature) join(other signature) {
	for i, b := range other {
		s[i] |= b
	}
}

// within reports whether the other one has all bits of s.
func (s signature) within(other signature) bool {
	for i, b := range s {
		if b&^other[i] != 0 {
			return false
		}
	}
	return true
}

// text adds each four bytes of a text.
func (s signature) text(text []byte) {
	var gram uint32
	for i, b := range text {
		if gram = gram<<8 | uint32(b); i >= gramBytes-1 {
			s.set(bitOfGram(gram))
		}
	}
}

// bitOfGram spreads four bytes over the bits of a signature (Fibonacci hashing).
func bitOfGram(gram uint32) uint16 {
	const golden, bits = 0x9E3779B1, 14 // so many bits that 8*signatureBytes have a number each
	return uint16(gram * golden >> (32 - bits))
}

// bitsOf gives the bits of a name: a feature, a header, a header with its value.
func bitsOf(parts ...string) []uint16 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write([]byte(part)) // never fails
		_, _ = h.Write([]byte{0})
	}
	sum := h.Sum64()
	first, step := uint32(sum), uint32(sum>>32)|1
	out := make([]uint16, bitsOfName)
	for i := range out {
		out[i] = uint16((first + uint32(i)*step) % (8 * signatureBytes))
	}
	return out
}

func (s signature) name(parts ...string) {
	for _, bit := range bitsOf(parts...) {
		s.set(bit)
	}
}

const featureWord, headerWord = "feature", "header"

// header adds one header; value is nil when no filter can ask for it.
func (s signature) header(name string, value *string) {
	s.name(headerWord, name)
	if value != nil {
		s.name(headerWord, name, *value)
	}
}

// demand is what a signature must have: of each part one of its alternatives, and of that all bits.
type demand [][][]uint16

// demandOf is what a filter demands of the letters that it may find.
func demandOf(f deadletters.Filter) demand {
	var d demand
	if len(f.Features) > 0 {
		var either [][]uint16
		for _, feature := range f.Features {
			either = append(either, bitsOf(featureWord, feature))
		}
		d = append(d, either)
	}
	if len(f.Headers) > 0 {
		var either [][]uint16
		for _, m := range f.Headers {
			if m.Value == nil {
				either = append(either, bitsOf(headerWord, m.Name))
				continue
			}
			either = append(either, bitsOf(headerWord, m.Name, *m.Value))
		}
		d = append(d, either)
	}
	if len(f.Text) >= gramBytes {
		d = append(d, [][]uint16{bitsOfText(f.Text)})
	}
	return d
}

func bitsOfText(text string) []uint16 {
	var bits []uint16
	var gram uint32
	for i := range len(text) {
		if gram = gram<<8 | uint32(text[i]); i >= gramBytes-1 {
			bits = append(bits, bitOfGram(gram))
		}
	}
	return bits
}

// metBy reports whether letters with this signature may be what is looked for.
func (d demand) metBy(s signature) bool {
	for _, either := range d {
		if !slices.ContainsFunc(either, s.hasAll) {
			return false
		}
	}
	return true
}
