package demo

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// Each state of a pass fits a line of 80 columns: events on their way, an outage, and the long wait for the last retries.
func TestFrame(t *testing.T) {
	progress := consumer.Progress{
		Consumed: 4_938, Delivered: 4_234, DeadLettered: 40, DeadByCode: map[string]int64{"geometry_structure": 19, "geometry_invalid": 21},
		Tiers: []consumer.TierProgress{
			{Topic: "features.retry-2s", Retried: 2_075},
			{Topic: "features.retry-60s", Waiting: 1_664, NextDue: time.Now().Add(time.Hour), Retried: 1_664},
		},
	}
	for name, c := range map[string]struct {
		frame frame
		want  []string
	}{
		"producing": {frame{elapsed: 75 * time.Second, produced: 3_226, events: 4_938, progress: progress}, []string{"01:15  3,226 of 4,938 produced", "1,664 waiting"}},
		"an outage": {frame{elapsed: time.Second, outage: 14 * time.Second, progress: progress}, []string{"OUTAGE", "503 for 14 s", "down for another 14 s"}},
		"it ends":   {frame{elapsed: 18 * time.Second, progress: progress}, []string{"00:18  The place-name service is back"}},
		"waiting":   {frame{produced: 4_938, events: 4_938, progress: progress}, []string{"1,664 waiting, the next due in", "DLQ: geometry_invalid 21, geometry_structure 19"}},
	} {
		text := c.frame.announce() + strings.Join(c.frame.lines(), "\n")
		for _, want := range c.want {
			expect.That(t, strings.Contains(text, want), "%s: %q is missing in\n%s", name, want, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			expect.That(t, utf8.RuneCountInString(line) <= width, "%s: wider than %d: %s", name, width, line)
		}
	}
}
