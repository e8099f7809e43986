package status

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/safetext"
)

// Screen is what a terminal of a width and a height shows of a watch: no line is longer, and no more lines. trouble is why the
// report is not a new one.
func (s Seen) Screen(now time.Time, trouble error, width, height int) []string {
	var text bytes.Buffer
	_ = s.Text(&text) // a buffer takes it
	lines := []string{s.At.UTC().Format("2006-01-02 15:04:05") + " UTC  " + s.pace()}
	if trouble != nil {
		lines = append(lines, fmt.Sprintf("NOT NEW, of %s ago: %v", now.Sub(s.At).Round(time.Second), trouble))
	}
	lines = append(lines, strings.Split(strings.TrimRight(text.String(), "\n"), "\n")...)
	if height > 1 && len(lines) > height-1 {
		more := len(lines) - (height - 2)
		lines = append(lines[:height-2], fmt.Sprintf("… %d lines more: a larger window, or -o ndjson", more))
	}
	for i, line := range lines {
		lines[i] = fit(line, width)
	}
	return lines
}

// pace is the line of the rates.
func (s Seen) pace() string {
	if s.Rates == nil {
		return "rates follow"
	}
	text := fmt.Sprintf("%.1f/s in, %.1f/s committed", s.Rates.In, s.Rates.Done)
	switch {
	case s.Lag == 0:
		return text + ", no lag"
	case s.Rates.Left != nil:
		return text + fmt.Sprintf(", lag %d, about %s left", s.Lag, time.Duration(*s.Rates.Left*float64(time.Second)).Round(time.Second))
	default:
		return text + fmt.Sprintf(", lag %d, not shrinking", s.Lag)
	}
}

// fit cuts a line, and takes out what would move the cursor or colour the screen: reasons come from services and persons.
func fit(line string, width int) string {
	line = safetext.Clean(line, safetext.OneLine)
	if width > 1 {
		return safetext.Cut(line, width)
	}
	return line
}
