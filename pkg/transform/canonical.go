package transform

import (
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
)

// Canonical returns the canonical bytes of a feature's source ID, geometry and attributes, for the content hash. Two
// features have the same bytes exactly when these three are equal:
//
//   - The order of members, white space and escapes do not count.
//   - Numbers are compared by value, exactly and whatever their size (1, 1.0 and 1e0 are equal, 9007199254740993 and
//     9007199254740992 are not). Ordinates are compared as doubles.
//   - `properties: null` equals `properties: {}`. A property that is null is not a missing one, and the ID 1 is not the ID "1".
//   - Positions count in their order: a ring that begins elsewhere or runs the other way is a different ring.
//
// A bbox, foreign members and a crs do not count here; [Transformer.Content] adds them where a mapping lets them
// through. The bytes are JSON with sorted names for ID and properties, then a zero byte, then the doubles of the
// geometry, which encode where they end.
func Canonical(f *Feature) []byte { return AppendCanonical(make([]byte, 0, sizeOf(f)), f) }

// AppendCanonical appends what [Canonical] returns, so that a caller who only hashes it can reuse one buffer.
func AppendCanonical(dst []byte, f *Feature) []byte {
	dst = append(dst, '{')
	if !f.ID.IsNull() {
		dst = append(appendCanonical(append(dst, `"id":`...), f.ID), ',')
	}
	dst = appendSorted(append(dst, `"properties":`...), f.Properties)
	return shapes.AppendCanonical(append(dst, "}\x00"...), f.Geometry.Shape, f.Geometry.Z)
}

// appendCanonical appends a value with sorted names and exact numbers.
func appendCanonical(dst []byte, v Value) []byte {
	switch v.token {
	case '0':
		return numbers.AppendCanonical(dst, v.text)
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
