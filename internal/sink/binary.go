package sink

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// bytea is PostgreSQL's type for bytes.
const bytea = "bytea"

// binaryOf reads bytes from their text: base64, as the bytes of Avro and Debezium come, or hexadecimal digits behind \x, as PostgreSQL writes
// them. PostgreSQL itself would take base64 for the bytes of its letters.
func binaryOf(text string) (raw []byte, ok bool) {
	if digits, is := strings.CutPrefix(text, `\x`); is {
		raw, err := hex.DecodeString(digits)
		return raw, err == nil
	}
	text = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "").Replace(strings.TrimRight(text, "=\r\n"))
	raw, err := base64.RawStdEncoding.DecodeString(text)
	return raw, err == nil
}

// checkBytes refuses what is no bytes in a column, an array or a member of them.
func (t *table) checkBytes(c column, v transform.Value, key []byte) error {
	if !c.values.any(bytea) {
		return nil
	}
	kind := v.Kind()
	fits := kind == transform.KindNull || kind == transform.KindString || kind == transform.KindArray && isArray(c) || kind == transform.KindObject && c.Type != bytea && !isArray(c)
	_ = c.values.texts(v, func(in *valueType, text string) error {
		_, ok := binaryOf(text)
		fits = fits && (ok || !in.any(bytea))
		return nil
	})
	if fits {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeDBData, Stage: classify.StageSink, Path: "/properties/" + pointer(c.Name), Feature: string(key), Rule: "sink.postgis.table",
		Message: fmt.Sprintf("column %q of %s, of type %s: the value is neither base64 nor hexadecimal digits behind \\x", c.Name, t.name, c.Declared),
		Fix:     "send the bytes in base64, or change the type of the column to text",
	}
}
