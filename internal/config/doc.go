// Package config reads the YAML file that describes a pipeline, and reports every fault in it at once.
//
// The file is strict (S0-1): an unknown or duplicate key, a value of the wrong type, an anchor, an alias, a tag or a
// second document is a fault. Every fault has a line and a column, and tells what is wrong and what to do. One pass
// finds all faults, and they are sorted by line. The struct tags of the types here hold the default and the rules of
// each value. The decoder, the JSON schema (schemas/pipeline.schema.json) and the reference file
// (deploy/config.reference.yaml) follow from the tags. Tests check that they agree.
//
// The package does not validate with that schema. A schema validator does not know the range of a duration, how a number
// was written, or which values may be shown. Each of its errors would need the tag of the key again. Compiling the
// schema takes longer than reading the file.
//
// An environment variable can override every key. Its name is SWITCHBACK_ and the path in capitals with underscores,
// such as SWITCHBACK_KAFKA_BROKERS=a:9092,b:9092 or SWITCHBACK_ENRICH_0_HTTP_URL. Commas separate the entries of a list
// of plain values. A list of mappings and a mapping are written as YAML in flow style. An empty variable counts as
// unset; `""` (two quotes) is the empty text.
//
// Secrets are never in the file, and therefore never in a [Config]. The file names the environment variable or the file
// that holds the secret, and [SASL.Credentials] reads it at connect time.
//
// The package reads only that file, the secrets it names and the environment. It opens no connection, resolves no name
// and creates no topic. It imports only pkg/*, internal/template and libraries.
package config
