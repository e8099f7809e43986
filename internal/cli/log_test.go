package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestLogger_S0_7_writesOneJSONObjectALine(t *testing.T) {
	var out bytes.Buffer
	log, _, err := NewLogger(&out, "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not told")
	log.Warn("told", "due", time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("x", 3600)))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "told" || line["due"] != "2026-07-01T11:00:00Z" {
		t.Errorf("line %s, %v", out.String(), err)
	}
	if _, _, err := NewLogger(&out, "loud"); err == nil {
		t.Error("a level that does not exist was taken")
	}
}

func TestLogger_S0_7_isTextOnATerminal(t *testing.T) {
	var out bytes.Buffer
	slog.New(logHandler(&out, slog.LevelInfo, true)).Info("told", "id", "x\x1b[2J")
	if got := out.String(); !strings.Contains(got, " level=INFO msg=told id=") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
