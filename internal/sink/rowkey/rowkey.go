// Package rowkey checks the keys that find the row of a record in the table of a sink. The consumer and the replayer's dry run use it.
package rowkey

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Finds reports whether a key can be that of a row: PostgreSQL's texts are UTF-8, without a zero.
func Finds(key []byte) bool { return len(key) > 0 && utf8.Valid(key) && !slices.Contains(key, 0) }

// CheckRecord refuses a key of an output that finds no row of a table.
func CheckRecord(key []byte, table string) error {
	if Finds(key) {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeInvalidUTF8, Stage: classify.StageSink, Message: fmt.Sprintf("the key %q of the output is no text, and finds no row of %s", key, table),
		Rule: "sink.postgis.key_column", Fix: "send the feature's id as the key",
	}
}

// CheckRow refuses what a rule (sink.key) makes of the record with a key, when that finds no row of a table.
func CheckRow(row []byte, rule, table, key string) error {
	if Finds(row) {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeMissingRequired, Stage: classify.StageSink, Message: fmt.Sprintf("%s gives %q, which finds no row of %s", rule, row, table),
		Rule: "sink.key", Feature: key, Fix: "send an id, make one with transform.id, or set another sink.key",
	}
}
