package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode/utf16"
)

// NewLogger returns a logger with times in UTC that writes text on a terminal, and one JSON object per line elsewhere.
// level is debug, info, warn or error; empty means info. The LevelVar changes the level later.
func NewLogger(w io.Writer, level string) (*slog.Logger, *slog.LevelVar, error) {
	l := new(slog.LevelVar)
	if level != "" {
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, nil, fmt.Errorf("SWITCHBACK_LOG_LEVEL is %q, want debug, info, warn or error", level)
		}
	}
	_, _, terminal := TerminalSize(w)()
	return slog.New(logHandler(w, l, terminal)), l, nil
}

// logHandler returns a handler for a person or for a program. It quotes text that could steer a terminal.
func logHandler(w io.Writer, level slog.Leveler, terminal bool) slog.Handler {
	utc := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindTime {
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		}
		return a
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: utc}
	if terminal {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}

// EncodeJSON returns a value as JSON. Characters that could steer a terminal are escaped, which does not change the
// value.
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

// WriteJSON writes a value as a line of JSON, or as indented JSON.
func WriteJSON(w io.Writer, v any, indented bool) error {
	indent := ""
	if indented {
		indent = "  "
	}
	text, err := EncodeJSON(v, indent)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text+"\n")
	return err
}

// escapeControls writes control characters outside of ASCII as \u escapes. Line breaks are part of the JSON.
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
