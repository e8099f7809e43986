package avro

import (
	"encoding/hex"
	"strconv"
)

// canonical returns the Parsing Canonical Form (specification, section Parsing
// Canonical Form for Schemas): fullnames, no attributes but those that decide
// how data is read, these in a fixed order, and no white space. A named type is
// written where it is met first, and by its name from then on.
func canonical(root *node) string {
	c := canonicalizer{written: map[*node]bool{}}
	c.node(root)
	return string(c.out)
}

type canonicalizer struct {
	out     []byte
	written map[*node]bool
}

func (c *canonicalizer) text(parts ...string) {
	for _, part := range parts {
		c.out = append(c.out, part...)
	}
}

// quoted appends a name or a symbol. The grammar of names leaves nothing to
// escape.
func (c *canonicalizer) quoted(name string) { c.text(`"`, name, `"`) }

func (c *canonicalizer) node(n *node) {
	switch n.kind {
	case kindUnion:
		c.text("[")
		each(c, n.branches, c.node)
		c.text("]")
	case kindArray:
		c.text(`{"type":"array","items":`)
		c.node(n.items)
		c.text("}")
	case kindMap:
		c.text(`{"type":"map","values":`)
		c.node(n.items)
		c.text("}")
	case kindRecord, kindEnum, kindFixed:
		c.named(n)
	default:
		c.quoted(string(n.kind))
	}
}

func (c *canonicalizer) named(n *node) {
	if c.written[n] {
		c.quoted(n.name)
		return
	}
	c.written[n] = true
	c.text(`{"name":"`, n.name, `","type":"`, string(n.kind), `",`)
	switch n.kind {
	case kindRecord:
		c.text(`"fields":[`)
		each(c, n.fields, func(f field) {
			c.text(`{"name":"`, f.name, `","type":`)
			c.node(f.node)
			c.text("}")
		})
		c.text("]}")
	case kindEnum:
		c.text(`"symbols":[`)
		each(c, n.symbols, c.quoted)
		c.text("]}")
	default:
		c.text(`"size":`, strconv.Itoa(n.size), "}")
	}
}

func each[T any](c *canonicalizer, list []T, write func(T)) {
	for i, element := range list {
		if i > 0 {
			c.text(",")
		}
		write(element)
	}
}

// Fingerprint is the CRC-64-AVRO of a schema, in the byte order in which the
// single-object encoding has it: the lowest byte first.
type Fingerprint [8]byte

// String returns the sixteen hexadecimal digits of the bytes in their order,
// such as "24591da000f40103".
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// emptyCRC is the CRC-64-AVRO of no bytes, and its polynomial.
const emptyCRC = 0xc15d213aa4d7a795

// Fingerprint returns the schema's CRC-64-AVRO (specification, section Schema
// Fingerprints).
func (s *Schema) Fingerprint() Fingerprint {
	crc := uint64(emptyCRC)
	for i := range len(s.canonical) {
		crc = crc>>8 ^ crcOf(byte(crc)^s.canonical[i])
	}
	var out Fingerprint
	for i := range out {
		out[i] = byte(crc >> (8 * i))
	}
	return out
}

// crcOf is one entry of the specification's table.
func crcOf(b byte) uint64 {
	crc := uint64(b)
	for range 8 {
		crc = crc>>1 ^ emptyCRC&-(crc&1)
	}
	return crc
}
