package sink

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// FindsRow reports whether a key can find a row of the table: PostgreSQL's texts are UTF-8 and have no zero byte.
func FindsRow(key []byte) bool { return len(key) > 0 && utf8.Valid(key) && !slices.Contains(key, 0) }

// CheckRecordKey refuses a record key that cannot find a row of a table.
func CheckRecordKey(key []byte, table string) error {
	if FindsRow(key) {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeInvalidUTF8, Stage: classify.StageSink, Message: fmt.Sprintf("the key %q of the output is no text, and finds no row of %s", key, table),
		Rule: "sink.postgis.key_column", Fix: "send the feature's id as the key",
	}
}

// CheckRowKey refuses a row key that cannot find a row of a table. The rule (sink.key) made it from the record with this key.
func CheckRowKey(row []byte, rule, table, key string) error {
	if FindsRow(row) {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeMissingRequired, Stage: classify.StageSink, Message: fmt.Sprintf("%s gives %q, which finds no row of %s", rule, row, table),
		Rule: "sink.key", Feature: key, Fix: "send an id, make one with transform.id, or set another sink.key",
	}
}
