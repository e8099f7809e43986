package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// EncodeJSON writes a value as JSON. What could steer a terminal is escaped, which leaves the value
// what it is.
func EncodeJSON(v any, indent string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return escapeControls(strings.TrimSuffix(b.String(), "\n")), nil
}

// escapeControls writes control characters beyond those of ASCII as \u escapes. Line breaks are JSON's own.
func escapeControls(text string) string {
	if strings.IndexFunc(text, SteersInText) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !SteersInText(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
