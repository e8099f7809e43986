package status

import (
	"bytes"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
)

// Screen returns the lines that a terminal of a width and height shows during a watch (see [screen.Fit]). trouble is why
// the report is not new.
func (s Seen) Screen(now time.Time, trouble error, width, height int) []string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s UTC  %s\n%s", s.At.UTC().Format("2006-01-02 15:04:05"), s.pace(), cli.StaleLine(s.At, now, trouble))
	_ = s.Text(&text) // a buffer returns no error
	return cli.FitScreen(text.String(), width, height)
}

// pace returns the line about the rates.
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
