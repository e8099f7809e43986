// Package transform maps GeoJSON features onto a target schema. It is pure:
// bytes and a config go in, a feature or an error comes out; it does no I/O, has
// no clock and no global state, so a result depends on nothing else and a local
// fault is never worth a retry (S1-9).
//
//	            ┌ decode ┐   ┌ gate ─────────┐   ┌ map ──────────┐          ┌ validate ┐   ┌ encode ┐
//	bytes ────▶ │ strict │ ▶ │ CRS, type,    │ ▶ │ fields, types │ ▶ enrich │ required │ ▶ │ stable │ ────▶ bytes
//	            │ RFC    │   │ empty, range, │   │ flatten,      │  (not    │ and typed│   │ bytes  │
//	            │ 7946   │   │ OGC validity  │   │ winding,      │   here)  │ fields   │   └────────┘
//	            └────────┘   └───────────────┘   │ precision     │          └──────────┘
//	                                             └───────────────┘
//
// Each stage is a method of [Transformer]; [Transformer.Apply] runs the first
// three. Every error for a record is an [*Error] with a code of the classify
// package, a finer rule, a JSON pointer, line and column, the offending value
// and what would make the record pass.
//
// # What the decoder refuses, and why
//
// Lenient decoders turn bad records into wrong features: the standard library
// takes the last of two equal members, matches names in any case, and reads null
// ordinates as 0; others drop heights and digits. This one reads the tokens once,
// or the bytes alone where there is nothing to refuse, and refuses
//
//   - what is not JSON, ends too early, is not UTF-8, or goes on after its end,
//   - a member twice, or a GeoJSON member in another case,
//   - anything but one Feature with type, geometry and properties,
//   - positions of fewer than two or more than three ordinates, null ordinates,
//     lines of one position, rings that are short or not closed,
//   - members of another JSON type, and members of another GeoJSON object,
//   - what exceeds one of the [Limits], before it is built.
//
// It keeps heights (the third ordinate), 64-bit integers and every digit of a
// number among ids and properties. What it leaves out: the bbox and the foreign
// members of a geometry object (they are checked; a Feature's own are kept), and
// the sign of a zero ordinate.
//
// # Expressions
//
// Computed fields, the filter and the feature id may be expressions of
// expr-lang/expr. They are compiled once; they have no clock and do no I/O; their
// size, the elements that they make, the texts that they join and the depth of
// their loops are bounded (docs/mapping.md lists what they may call).
//
// # What is done to a geometry
//
// Winding is fixed, never a reason to refuse: nearly all published data has it
// the other way round. A null geometry is legal. What else is done the config
// says, and a repair is said in the feature: its flag property has the rule that
// was broken, and the area before and after.
//
// # What the package refuses to do
//
// It asks no one: registries, lookups and sinks are elsewhere, and reference sets
// come loaded. It never guesses a type, a time zone or a coordinate reference
// system, never changes an area without saying so, and never drops a value in
// silence: two properties that would get one name are an error. It does not know
// whether a value is unique among features: that is a matter of a whole table, and
// it sees one record.
package transform
