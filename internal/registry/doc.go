// Package registry requests schemas of records from a schema registry with Confluent's REST API, and registers the
// schemas of this project's outputs.
//
// An ID always means the same schema, so schemas are cached permanently, including unusable ones. An unknown ID is
// requested again after a while. However many records wait for one schema, it is requested once, and a canceled record
// does not fail the others.
//
// A registry that does not answer several times in a row counts as down: records that need it are deferred, and use no
// attempts.
//
// The answer of the registry decides what a failure means for a record. No answer, an answer that reports a problem of
// the registry, and an unknown ID (a replica may be behind) are transient. An answer that exceeds the limits is an
// outage at once. A refused password is the pipeline's fault.
//
// The package supports Avro and JSON Schema. It does not check compatibility, because the registry does.
package registry
