package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// NewLogger gives a logger that writes one JSON object a line, times in UTC. level is debug, info, warn or error; empty
// means info. What is set in the LevelVar later counts from then on.
func NewLogger(w io.Writer, level string) (*slog.Logger, *slog.LevelVar, error) {
	l := new(slog.LevelVar)
	if level != "" {
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, nil, fmt.Errorf("SWITCHBACK_LOG_LEVEL is %q, want debug, info, warn or error", level)
		}
	}
	utc := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindTime {
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: utc})), l, nil
}
