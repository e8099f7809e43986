// Package schemas contains the JSON schemas of the data that Switchback reads and writes, so that a producer, a
// reader of its topics and an editor can check against the same text that the project tests with:
//
//   - pipeline.schema.json: the pipeline file; generated from the types of internal/config.
//
//   - audit-event.v1.schema.json: the value of a record in `<source>.audit`.
//
//   - dead-letter-state.v1.schema.json: the value of a record in `<source>.dlq-status`.
//
//   - feature-event.v1.avsc: the same content as feature-event.v1.json, as Avro.
//
// and whatever other *.json lies beside them. A version stands in the name: a change that an old
// reader could not take gets a new file, and the old one stays.
//
// The package only hands out the text. It refuses to validate: the libraries for that do not belong
// into every program that wants to show a schema.
package schemas
