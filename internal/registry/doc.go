// Package registry asks a schema registry (Confluent's REST API, which others
// speak too) for the schemas that records were written with, and registers those
// that this project writes with.
//
// An id means one schema for ever, so what was found is kept, and what cannot
// be used too; an id that the registry does not know is asked for again after a while.
// However many records wait for one schema, it is asked for once, and one that
// gives up does not fail the others.
//
// A registry that does not answer several times in a row is down: what would have
// to ask it is held back, and spends no attempts.
//
// What the registry answers decides what a failure means for a record: no answer,
// one that says it is not well, and an unknown id (a replica may be behind) are
// transient; an answer beyond every bound is an outage at once; a refused
// password is the pipeline's fault.
//
// It knows schemas of Avro and JSON Schemas, and compares no versions:
// compatibility is the registry's to check.
package registry
