// Package envelope takes the feature out of what a Kafka record wraps it in, and
// puts one in.
//
//	headers, value ──▶ CloudEvents ──▶ GeoJSON ─────────────▶ feature, or a delete
//	                       │      ├──▶ JSON-FG ────────────▶
//	                       │      └──▶ Avro ──┬─ event v1 ─▶
//	                       └── (or none)      └─ row ──────▶
//	                               Debezium ──── row ──────▶
//
// Which it is says the pipeline ([Options.Format]), or the record's headers when
// the pipeline leaves it to them: the content type, and the ce_ headers of
// CloudEvents. It is never guessed from the value. The one thing that is read
// from the value is the mark with which both framings of Avro begin, which is
// there for this and begins no JSON text: it says how Avro is framed, and that a
// record is Avro where its headers say nothing, because serializers for a schema
// registry set none.
//
// A null value is a delete in every format. Every error for a record is a
// *transform.Error with code, path, rule and fix; only what the schema registry
// answers is passed on as it is, because it may be worth another attempt.
//
// # Rows
//
// A row is a record of Avro, or a row of a table that Debezium sends. [Row] says
// which column is the id and which the geometry, and in what form; the others
// are the properties. The SRID of a geometry is declared to the transform, whose
// gate judges it.
//
// # JSON-FG
//
// A feature's place, in the coordinate reference system that coordRefSys names,
// stands in for its geometry. What GeoJSON has no form for (polyhedra, prisms,
// curves, measures, epochs, compound systems) is refused by name, unless
// [Unsupported] says to take the geometry that stands beside it. The time is
// checked, and kept where it is: a foreign member.
//
// # What it refuses
//
// Batches of events, FeatureCollections that are not to be split, events of
// Debezium that concern no row, and POINT EMPTY,
// which GeoJSON has no form for. It does no I/O but to ask the registry.
package envelope
