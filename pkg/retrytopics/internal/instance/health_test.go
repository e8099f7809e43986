package instance

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S4-15: each aborted transaction doubles the wait, from a quarter of a second to half a minute. After the third one
// the engine is blocked, and logs it once a minute; every fifth one asks for a new session. A commit ends all of it.
func TestHealth_S4_15_backsOffAndBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		h := Health{First: firstWait}
		for n := 1; n <= 12; n++ {
			most := min(firstWait<<(n-1), longestWait)
			fresh := h.Failed(log, errors.New("not allowed"))
			waits := h.Waits()
			_, blocked := h.Blocked()
			expect.That(t, waits >= most/2 && waits <= most, "after %d aborted transactions the next one waits %v, want %v to %v", n, waits, most/2, most)
			expect.That(t, blocked == (n >= BlockedFrom) && fresh == (n%freshEvery == 0), "after %d: blocked %t, new session %t", n, blocked, fresh)
		}
		expect.Equal(t, strings.Count(text.String(), "cannot commit"), BlockedFrom-1, "log lines within the first minute")
		time.Sleep(logEvery)
		h.Refused(log, errors.New("not allowed"))
		expect.Equal(t, strings.Count(text.String(), "cannot commit"), BlockedFrom, "log lines after it")
		expect.That(t, h.SessionEnded() && !h.WasHealthy(), "the end of the session is not recorded")
		h.Passed(log)
		_, blocked := h.Blocked()
		expect.That(t, !blocked && h.Waits() == 0 && h.WasHealthy() && !h.SessionEnded(), "after a commit it is blocked, or waits")
	})
}

// One aborted transaction whose records were all acknowledged is a rebalance; a second one in a row is a loop.
func TestHealth_aSecondUnexplainedAbortCounts(t *testing.T) {
	t.Parallel()
	var h Health
	expect.That(t, !h.Unexplained() && h.Unexplained(), "the first counts, or the second does not")
	h.Passed(slog.New(slog.DiscardHandler))
	expect.That(t, !h.Unexplained(), "the first after a commit counts")
}
