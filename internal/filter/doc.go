// Package filter is the pipeline without Kafka: JSON texts in, mapped features
// out, what is refused beside it. It is the tool with which people write a
// mapping.
//
// Each line goes through the very handler that the consumer runs, so what comes
// out is what the pipeline would produce, and what is refused is what would
// become a dead letter. A line that is refused never stops the others.
//
// A line is usually one text; package jsontexts says which other forms the input
// may have. A text is GeoJSON, JSON-FG, a structured event of CloudEvents or a
// change event of Debezium, as the pipeline's source.format says; what comes out is
// GeoJSON. Avro is bytes, and refused.
//
// It refuses to retry: a step that fails transiently rejects its line.
package filter
