// Package config reads the one YAML file that describes a pipeline, and reports everything that is wrong with it at once.
//
// The file is strict (S0-1): an unknown or doubled key, a value of the wrong type, an anchor, an alias, a tag or a second document is a
// fault. Every fault has a line and a column, says what is wrong and what to do, and all of them come from one pass, sorted by line. The
// rules for one value and its default stand in the struct tags of the types here. The decoder, the JSON schema
// (schemas/pipeline.schema.json) and the reference file (deploy/config.reference.yaml) follow from the tags; tests hold them together.
//
// The package does not validate by that schema. A validator knows neither the range of a duration, nor how a number was written, nor which
// value may be shown, so each of its errors would need the tag of the key again, and compiling the schema takes longer than reading the file.
//
// Every key can be overridden from the environment as SWITCHBACK_ and its path in capitals with underscores, such as
// SWITCHBACK_KAFKA_BROKERS=a:9092,b:9092 or SWITCHBACK_ENRICH_0_HTTP_URL. A list of plain values is separated by commas; a list of mappings
// or a mapping is written as YAML in flow style. A variable that is empty counts as unset; `""` (two quotes) is the empty text.
//
// Secrets are never in the file, and so never in a [Config]: the file names the environment variable or the file that holds one, and
// [SASL.Credentials] reads it at connect time.
//
// The package does no I/O other than to read that file and the environment: it opens no connection, resolves no name and creates no topic.
// It imports pkg/*, internal/template and libraries only.
package config
