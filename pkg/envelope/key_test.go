package envelope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// C-1: keys as the converters of Kafka Connect write them, and what a path finds in them.
func TestKey_C1(t *testing.T) {
	s := schema(t, `{"type":"record","name":"Key","namespace":"db.public.parcel","fields":[{"name":"id","type":"long"},{"name":"tenant","type":"string"}]}`)
	o := opener(t, envelope.Options{Registry: registry{1: s}})
	avroKey := string(confluent(t, s, 1, map[string]any{"id": int64(7), "tenant": "x"}))
	for _, c := range []struct {
		name, key, path, want string
		code                  classify.Code
		says                  string
	}{
		{name: "json", key: `{"id":7}`, path: "id", want: "7"},
		{name: "json_with_schema", key: `{"schema":{"type":"struct","fields":[{"type":"int64","field":"id"}]},"payload":{"id":7}}`, path: "id", want: "7"},
		{name: "no_schema", key: `{"schema":null,"payload":"p-7"}`, want: "p-7"},
		{name: "whole", key: `"p-7"`, want: "p-7"},
		{name: "digits_stay", key: `{"id":12345678901234567890}`, path: "id", want: "12345678901234567890"},
		{name: "nested", key: `{"a":{"b":"x"}}`, path: "a.b", want: "x"},
		{name: "a_column_of_that_name", key: `{"payload":7,"schema":"s","id":1}`, path: "payload", want: "7"},
		{name: "avro", key: avroKey, path: "id", want: "7"},
		{name: "text", key: `p-7`, code: classify.CodeNotJSON, says: "the record key"},
		{name: "missing", key: `{"no":7}`, path: "id", code: classify.CodeMissingRequired, says: "has no id"},
		{name: "object", key: `{"id":{"x":7}}`, path: "id", code: classify.CodeWrongType, says: "an object"},
		{name: "null", key: `{"id":null}`, path: "id", code: classify.CodeWrongType, says: "null"},
		{name: "unknown_schema", key: "\x00\x00\x00\x00\x09\x0e", code: classify.CodeSchemaUnknown},
		{name: "cut_avro", key: avroKey[:6], path: "id", code: classify.CodeAvroDecode, says: "the record key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			value, err := o.Key(t.Context(), []byte(c.key))
			if err == nil {
				var path []string
				if c.path != "" {
					path = strings.Split(c.path, ".")
				}
				value, err = envelope.Part(value, path)
			}
			if c.code == "" {
				expect.That(t, err == nil && value.Text() == c.want, "got %s, %v; want %s", value.Text(), err, c.want)
				return
			}
			e, is := errors.AsType[*transform.Error](err)
			expect.That(t, (c.code == classify.CodeSchemaUnknown || is) && classify.Of(err).Code == c.code && strings.Contains(err.Error(), c.says),
				"got %v (%v); want %s that says %q", err, e, c.code, c.says)
		})
	}
}
