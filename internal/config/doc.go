// Package config reads the one YAML file that describes a pipeline, and says everything that is
// wrong with it at once.
//
// The file is strict (S0-1): an unknown or doubled key, a value of the wrong type, an anchor, an
// alias, a tag or a second document is a fault. Every fault has a line and a column, says what is
// wrong and what to do, and all of them come from one pass, sorted by line. Defaults come from
// the struct tags of the types here, so that the decoder, the JSON schema (schemas/pipeline.schema.json)
// and the reference file (deploy/config.reference.yaml) cannot differ; tests hold them together.
//
// Every key can be overridden from the environment as SWITCHBACK_ and its path in capitals with
// underscores, such as SWITCHBACK_KAFKA_BROKERS=a:9092,b:9092 or SWITCHBACK_ENRICH_0_HTTP_URL.
// A list of plain values is separated by commas; a list of mappings or a mapping is written as YAML
// in flow style. A variable that is empty counts as unset; `""` (two quotes) is the empty text.
//
// Secrets are never in the file, and so never in a [Config]: the file names the environment
// variable or the file that holds one, and [SASL.Credentials] reads it at connect time.
//
// The package refuses to do I/O other than to read that file and the environment: it opens no
// connection, resolves no name and creates no topic. It is a leaf: it imports pkg/* and libraries only.
package config
