package sink

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// bytea is PostgreSQL's type for bytes.
const bytea = "bytea"

// binaryOf parses bytes from text: hexadecimal digits after \x, as PostgreSQL writes them, or the configured form.
// PostgreSQL itself would store the letters of base64 as bytes.
func binaryOf(text string, mode config.BinaryText) (raw []byte, ok bool) {
	digits, prefixed := strings.CutPrefix(text, `\x`)
	if prefixed || mode == config.BinaryHex {
		raw, err := hex.DecodeString(digits)
		return raw, err == nil
	}
	text = strings.NewReplacer("\n", "", "\r", "").Replace(strings.TrimRight(text, "=\r\n"))
	switch mode {
	case config.BinaryBase64URLSafe:
		raw, err := base64.RawURLEncoding.DecodeString(text)
		return raw, err == nil
	case config.BinaryBase64:
		raw, err := base64.RawStdEncoding.DecodeString(text)
		return raw, err == nil
	case config.BinaryBytes, config.BinaryHex: // hexadecimal digits are parsed already
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(text))
	return raw, err == nil && !isLowerHex(text)
}

// isLowerHex reports whether a text is bytes in hexadecimal digits, as Debezium writes them.
func isLowerHex(text string) bool {
	return text != "" && len(text)%2 == 0 && strings.Trim(text, "0123456789abcdef") == ""
}

// checkBytes refuses invalid bytes in a column, an array or a member.
func (t *table) checkBytes(c column, v transform.Value, key []byte) error {
	if !c.values.any(bytea) {
		return nil
	}
	kind, ambiguous := v.Kind(), false
	fits := kind == transform.KindNull || kind == transform.KindString || kind == transform.KindArray && isArray(c) || kind == transform.KindObject && c.Type != bytea && !isArray(c)
	_ = c.values.texts(v, func(in *valueType, text string) error {
		_, ok := binaryOf(text, t.binary)
		ambiguous = ambiguous || in.any(bytea) && isLowerHex(text)
		fits = fits && (ok || !in.any(bytea))
		return nil
	})
	if fits {
		return nil
	}
	fault, fix := "the value is neither base64 nor hexadecimal digits behind \\x", "send the bytes in base64, or change the type of the column to text"
	switch {
	case t.binary == config.BinaryHex:
		fault, fix = "the value is no hexadecimal digits (sink.postgis.binary: hex)", "set sink.postgis.binary to the connector's binary.handling.mode, or send hexadecimal digits"
	case t.binary != config.BinaryBytes:
		fault, fix = "the value is no "+string(t.binary)+" (sink.postgis.binary), and no hexadecimal digits behind \\x", "set sink.postgis.binary to the connector's binary.handling.mode"
	case ambiguous:
		fault, fix = "the value could be base64 or hexadecimal digits, and the bytes differ", "set sink.postgis.binary to the connector's binary.handling.mode: base64 or hex (base64 for bytes), and replay"
	}
	return t.refused(c, key, fault, fix)
}
