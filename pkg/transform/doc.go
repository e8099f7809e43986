// Package transform maps GeoJSON features onto a target schema. It is pure: it turns bytes and a config into a feature or
// an error. It does no I/O and has no clock and no global state. Therefore a result depends on nothing else, and a retry
// never helps (S1-9).
//
//	            ┌ decode ┐   ┌ gate ─────────┐   ┌ map ──────────┐          ┌ validate ┐   ┌ encode ┐
//	bytes ────▶ │ strict │ ▶ │ CRS, type,    │ ▶ │ fields, types │ ▶ enrich │ required │ ▶ │ stable │ ────▶ bytes
//	            │ RFC    │   │ empty, range, │   │ flatten,      │  (not    │ and typed│   │ bytes  │
//	            │ 7946   │   │ OGC validity  │   │ winding,      │   here)  │ fields   │   └────────┘
//	            └────────┘   └───────────────┘   │ precision     │          └──────────┘
//	                                             └───────────────┘
//
// Each stage is a method of [Transformer]; [Transformer.Apply] runs the first three. Every error for a record is an
// [*Error] with a code of the classify package, a finer rule, a JSON pointer, line and column, the offending value and a
// fix.
//
// # What the decoder refuses, and why
//
// Lenient decoders turn bad records into wrong features: the standard library takes the last of two equal members, matches
// names in any case, and reads null ordinates as 0. Others drop heights and digits. This decoder reads a record of the
// common shape directly from its bytes, and any other record token by token. It refuses
//
//   - a text that is not JSON, ends too early, is not UTF-8, or has data after its end,
//   - a member twice, or a GeoJSON member in another case,
//   - anything but one Feature with type, geometry and properties,
//   - positions of fewer than two or more than three ordinates, null ordinates,
//     lines of one position, rings that are short or not closed,
//   - members of another JSON type, and members of another GeoJSON object,
//   - a value that exceeds one of the [Limits], before it is built.
//
// It keeps heights (the third ordinate), 64-bit integers and every digit of a number in ids and properties. It checks and
// drops the bbox and the foreign members of a geometry object, and keeps those of a Feature. It drops the sign of a zero
// ordinate.
//
// # Expressions
//
// Computed fields, the filter and the feature id may be expressions of expr-lang/expr. They are compiled once, have no
// clock and do no I/O. Their size, the elements that they create, the texts that they join and the depth of their loops
// are bounded. docs/mapping.md lists the functions.
//
// # What happens to a geometry
//
// Winding is corrected and never a reason to refuse, because almost all published data is wound the other way. A null
// geometry is legal. The config decides about everything else. A repair is reported in the flag property of the feature,
// with the broken rule and the area before and after.
//
// # What the package refuses to do
//
// It asks no other system: registries, lookups and sinks are elsewhere, and reference sets come loaded. It never guesses a
// type, a time zone or a coordinate reference system. It never changes an area silently and never drops a value silently:
// two properties with the same name are an error. It sees one record, so it does not know whether a value is unique among
// features.
//
// # Packages of its own
//
// internal/expression runs expressions. internal/numbers, internal/times and internal/units convert values.
// internal/shapes decides what a shape alone decides, and internal/world knows the range of longitude and latitude.
package transform
