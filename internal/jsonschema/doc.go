// Package jsonschema compiles JSON Schemas of operators and of schema registries, and names the first field of a
// value that does not satisfy one. It reads neither files nor the network: a schema can only refer to the schemas
// passed with it.
package jsonschema
