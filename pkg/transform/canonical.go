package transform

import (
	"slices"
	"strings"
)

// Canonical returns the canonical bytes of what a feature says: its source id,
// its geometry and its attributes, for the content hash. Two features have the
// same bytes exactly when these three are equal, where
//
//   - the order of members, white space and escapes do not count,
//   - numbers are compared by value, exactly and whatever their size (1, 1.0
//     and 1e0 are equal, 9007199254740993 and 9007199254740992 are not),
//     ordinates as doubles,
//   - null properties are no properties, but a property that is null is not one
//     that is missing, and the id 1 is not the id "1",
//   - positions count in their order: a ring that begins elsewhere or runs the
//     other way round is another one.
//
// A bbox, foreign members and a crs do not count here; [Transformer.Content] adds
// them where a mapping lets them through. The bytes are JSON with names in the
// order of their bytes, for id and properties, then a zero byte, then the doubles
// of the geometry, which say themselves where they end.
func Canonical(f *Feature) []byte { return AppendCanonical(make([]byte, 0, sizeOf(f)), f) }

// AppendCanonical appends what [Canonical] returns, so that one who only hashes
// it can use one buffer again and again.
func AppendCanonical(dst []byte, f *Feature) []byte {
	dst = append(dst, '{')
	if !f.ID.IsNull() {
		dst = append(appendCanonical(append(dst, `"id":`...), f.ID), ',')
	}
	dst = appendSorted(append(dst, `"properties":`...), f.Properties)
	return appendGeometry(append(dst, "}\x00"...), f.Geometry)
}

// appendCanonical appends a value with sorted names and exact numbers.
func appendCanonical(dst []byte, v Value) []byte {
	switch v.token {
	case '0':
		return appendDecimal(dst, v.text)
	case '[':
		dst = append(dst, '[')
		for i, item := range v.container.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, item)
		}
		return append(dst, ']')
	case '{':
		return appendSorted(dst, v.container.members)
	}
	return v.AppendJSON(dst)
}

// appendSorted appends an object with its members sorted by name.
func appendSorted(dst []byte, members []Member) []byte {
	var few [16]*Member
	sorted := few[:0]
	for i := range members {
		sorted = append(sorted, &members[i])
	}
	slices.SortFunc(sorted, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	dst = append(dst, '{')
	for i, member := range sorted {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, member.Name), ':')
		dst = appendCanonical(dst, member.Value)
	}
	return append(dst, '}')
}
