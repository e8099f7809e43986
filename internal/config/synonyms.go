package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// People bring the words of other tools: of Kafka's clients, of databases and of programming languages. No distance between
// letters leads from those to the words of this file, so they are listed here.

// otherKey gives the key of this file for what other tools call name, and what to know of it; "" when it is none of theirs. The
// name is that of an unknown key below the mapping home.
func otherKey(home, name string) (path, note string) {
	switch strings.ReplaceAll(fold(name), ".", "") {
	case "bootstrapservers", "bootstrapserver", "bootstrap", "brokerlist", "metadatabrokerlist", "servers", "hosts":
		if home == "" || home == "kafka" {
			return "kafka.brokers", ""
		}
	case "retries", "retry", "maxretries", "retrycount", "retrylimit":
		if home == "" || home == "kafka" || within(home, "pipeline") {
			return retryPath + "max_attempts", "which counts the first attempt, too"
		}
	case "groupid", "consumergroup", "consumergroupid":
		if home == "" || home == "kafka" || home == "source" || home == "pipeline" {
			return "source.group", ""
		}
	}
	return "", ""
}

// within reports whether a mapping is that of a path, or lies below it.
func within(home, path string) bool { return home == path || strings.HasPrefix(home, path+".") }

// otherWord gives the one of words for what databases and programming languages call by another name, or "".
func otherWord(name string, words []string) string {
	word := ""
	switch fold(name) {
	case "str", "text", "varchar", "char", "character varying", "uuid":
		word = string(transform.TypeString)
	case "int", "int2", "int4", "int8", "int32", "int64", "long", "short", "bigint", "smallint":
		word = string(transform.TypeInteger)
	case "float", "float4", "float8", "float32", "float64", "double", "double precision", "real":
		word = string(transform.TypeNumber)
	case "numeric", "money", "bigdecimal":
		word = string(transform.TypeDecimal)
	case "bool":
		word = string(transform.TypeBoolean)
	case "timestamp", "timestamptz", "time", "instant":
		word = string(transform.TypeDateTime)
	case "list":
		word = string(transform.TypeArray)
	case "map", "struct", "record", "json", "jsonb":
		word = string(transform.TypeObject)
	}
	if !slices.Contains(words, word) {
		return ""
	}
	return word
}

// geometryWord reports whether a word names a geometry: people write it for the type of a field.
func geometryWord(name string) bool {
	return fold(name) == "geometry" || slices.ContainsFunc(transform.GeometryTypes(), func(t transform.GeometryType) bool { return fold(string(t)) == fold(name) })
}

// asEntry writes a single value as the list that was expected, with the word of a closed list that it was probably meant to be.
func (r rules) asEntry(text string, entry reflect.Type) string {
	words := r.ofElement().vocabulary(reflect.Zero(entry)).now
	if entry == reflect.TypeFor[transform.GeometryType]() {
		words = texts(transform.GeometryTypes())
	}
	if near := Nearest(text, words); near != "" {
		text = near
	} else if len(words) > 0 {
		return "write it as a list, of " + strings.Join(words, ", ")
	}
	return "write [" + text + "]"
}
