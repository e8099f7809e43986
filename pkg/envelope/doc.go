// Package envelope extracts the feature from the envelope of a Kafka record, and writes features into one.
//
//	headers, value ──▶ CloudEvents ──▶ GeoJSON ─────────────▶ feature, or a delete
//	                       │      ├──▶ JSON-FG ────────────▶
//	                       │      └──▶ Avro ──┬─ event v1 ─▶
//	                       └── (or none)      └─ row ──────▶
//	                               Debezium ──── row ──────▶
//
// The pipeline names the format ([Options.Format]), or leaves it to the record's headers: the content type, and the ce_
// headers of CloudEvents. The format is never guessed from the value. The only exception is the mark with which both
// framings of Avro begin: it exists for this purpose, and no JSON text begins with it. It distinguishes the framings,
// and identifies Avro if the headers say nothing, because serializers for a schema registry set none.
//
// A null value is a delete in every format. Every error for a record is a *transform.Error with code, path, rule and
// fix. An error of the schema registry is returned unchanged, because another attempt may succeed.
//
// # Rows
//
// A row is a record of Avro, or a row of a table from Debezium. [Row] names the column of the ID, the column of the
// geometry and its form. The other columns are the properties. The SRID of a geometry is declared to the transform,
// whose gate judges it.
//
// # JSON-FG
//
// A feature's place, in the coordinate reference system that coordRefSys names, replaces its geometry. Places that
// GeoJSON cannot represent (polyhedra, prisms, curves, measures, epochs, compound systems) are refused by name, unless
// [Unsupported] says to use the geometry beside it. The time is checked, and stays a foreign member.
//
// # What it refuses
//
// It refuses batches of events, FeatureCollections that are not to be split, events of Debezium that concern no row, and
// POINT EMPTY in a MultiPoint, which GeoJSON cannot represent. Its only I/O is to ask the registry.
package envelope
