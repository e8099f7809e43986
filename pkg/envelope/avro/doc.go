// Package avro parses Avro schemas, decodes Avro data into values of the transform package, and encodes data. It follows
// version 1.12 of the specification.
//
// # Why the package has its own decoder
//
// The library goavro compiles schemas and encodes data. This package decodes data, because input may be hostile and
// every value must be kept exactly. goavro allocates the memory that a count announces before it looks at the bytes:
// five bytes can ask for 32 GiB. It returns a map for every record and every branch of a union. The order of fields is
// lost, and one byte of input takes up to 350 bytes of memory. It converts logical types into Go values that lose their
// scale. A test compares both decoders on everything that goavro can read.
//
// # How types are mapped
//
//   - int and long become numbers with every digit. float and double become numbers in their shortest form.
//     A NaN or an infinity is refused, because JSON has no form for them.
//   - string and enum become strings. bytes and fixed become strings in base64.
//   - record and map become objects in the order of the data, array becomes an array, and a union becomes the value of its branch.
//   - decimal becomes a string with all its digits ("12.50"), so that no reader converts it to a double.
//   - date, time and timestamp become strings of RFC 3339: "2026-11-03", "04:05:06.789", "2026-11-03T04:05:06.789Z".
//     Local timestamps have no zone. duration becomes a string of ISO 8601: "P1M2DT3.004S". uuid becomes its text.
//   - A logical type that is unknown, or that does not fit its type, is ignored, as the specification requires.
//
// # Fingerprints
//
// [Schema.Fingerprint] is the CRC-64-AVRO of the Parsing Canonical Form. This package builds the form itself. The form
// of goavro keeps the braces of {"type": "long"} after it removed a logical type, and it joins namespaces. Its
// fingerprints therefore differ from those of other implementations. goavro compiles the form that this package builds,
// so it never sees a logical type.
//
// # Limits
//
// The package does no schema resolution: it decodes data with the schema that wrote the data. It fetches no schemas and
// reads no object container files.
package avro
