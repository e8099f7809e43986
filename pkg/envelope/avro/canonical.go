package avro

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc64"
	"strconv"
)

// canonical returns the schema's Parsing Canonical Form (specification, section Parsing Canonical Form for Schemas). The
// form has fullnames, no white space, and only the attributes that decide how data is read, in a fixed order. The
// definition of a named type is written at its first use. Later uses write its name.
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

// quoted appends a name or a symbol in quotes. The grammar of names allows no character that needs escaping.
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

// Fingerprint is the CRC-64-AVRO of a schema, in the byte order of the single-object encoding: the lowest byte first.
type Fingerprint [8]byte

// String returns the bytes in order as sixteen hexadecimal digits, such as "24591da000f40103".
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// emptyCRC is the CRC-64-AVRO of an empty input. The specification uses the same value as the polynomial.
const emptyCRC = 0xc15d213aa4d7a795

// Fingerprint returns the schema's CRC-64-AVRO (specification, section Schema Fingerprints).
func (s *Schema) Fingerprint() Fingerprint {
	// The standard library inverts the sum before and after; the specification does not.
	crc := ^crc64.Update(^uint64(emptyCRC), crc64.MakeTable(emptyCRC), []byte(s.canonical))
	return Fingerprint(binary.LittleEndian.AppendUint64(nil, crc))
}
