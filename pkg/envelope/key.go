package envelope

import (
	"context"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Key decodes the key of a record as the converters of Kafka Connect write it: JSON, with or without its schema, or Avro
// in one of its framings. It returns the key without a schema.
//
// Every error for the record is a *transform.Error. An error of the schema registry is returned unchanged.
func (o *Opener) Key(ctx context.Context, key []byte) (transform.Value, error) {
	if IsFramed(key) {
		_, datum, err := o.datum(ctx, key)
		return datum, ofKey(err)
	}
	value, err := transform.ParseValue(key)
	if err != nil {
		return transform.Value{}, ofKey(err)
	}
	names := make([]string, 0, len(value.Members()))
	for _, m := range value.Members() {
		names = append(names, m.Name)
	}
	if slices.Sort(names); slices.Equal(names, []string{"payload", "schema"}) {
		value, _ = value.Member("payload")
	}
	return value, nil
}

// ofKey marks an error as one of the key, not of the value.
func ofKey(err error) error {
	if e, ok := err.(*transform.Error); ok { //nolint:errorlint // a marked one is about a schema
		e.Message, e.Rule = "the record key: "+e.Message, string(RuleRecordKey)
	}
	return err
}

// Part returns the text or the number at a path of names in a key. An empty path is the whole key.
func Part(key transform.Value, path []string) (transform.Value, error) {
	at := key
	for i, name := range path {
		below, found := at.Member(name)
		if !found {
			return at, fault(classify.CodeMissingRequired, RuleRecordKey, pointer(strings.Join(path[:i+1], ".")), "the record key has no "+name, "correct the path, or the key at its source")
		}
		at = below
	}
	if kind := at.Kind(); kind != transform.KindString && kind != transform.KindNumber {
		where := ""
		if len(path) > 0 {
			where = pointer(strings.Join(path, "."))
		}
		return at, fault(classify.CodeWrongType, RuleRecordKey, where, "the part of the record key is "+article(kind), "name a part that is a string or a number")
	}
	return at, nil
}
