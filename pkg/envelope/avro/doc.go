// Package avro reads Avro schemas and data of version 1.12 of the specification
// into values of the transform package, and writes data.
//
// # Why it decodes by itself
//
// Schemas are compiled and data is written by goavro. Data is read here, because
// what arrives may be hostile and must arrive exactly: goavro allocates what a
// count announces before it looks at the bytes (five of them can ask for 32 GiB),
// returns a map for every record and every branch of a union (so the order of
// fields is lost, and one byte costs up to 350), and turns logical types into
// Go values that have lost their scale. A test holds the two against each other
// on everything that goavro reads.
//
// # What becomes of what
//
//   - int and long are numbers with every digit; float and double in their
//     shortest form. A NaN or an infinity, which JSON has no form for, is refused.
//   - string and enum are strings; bytes and fixed are strings in base64.
//   - record and map are objects in the order of the data, array is an array, and
//     a union is the value of its branch.
//   - decimal is a string with all its digits ("12.50"), so that no reader takes
//     it for a double.
//   - date, time and timestamp are strings of RFC 3339: "2026-11-03",
//     "04:05:06.789", "2026-11-03T04:05:06.789Z"; local timestamps have no zone.
//     duration is one of ISO 8601: "P1M2DT3.004S". uuid is its text.
//   - A logical type that is unknown, or that does not fit its type, is ignored,
//     as the specification has it.
//
// # Fingerprints
//
// [Schema.Fingerprint] is the CRC-64-AVRO of the Parsing Canonical Form, which
// this package makes itself: goavro's keeps the braces of {"type": "long"} once a
// logical type was taken away, and joins namespaces, so that its fingerprints
// differ from those of other implementations. The form also is what goavro
// compiles: it never sees a logical type.
//
// # What the package refuses to do
//
// It does no schema resolution: data is read with the schema that wrote it. It
// looks nothing up, and has no object container files.
package avro
