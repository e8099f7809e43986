package operation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestCall_Check_refusesWhatStatesCannotCarry(t *testing.T) {
	good := Call{By: "ana", Reason: "the mapping is fixed", Operation: "discard-1"}
	must.Do(t, good.Check())
	for name, change := range map[string]func(*Call){
		"no reason":        func(c *Call) { c.Reason = " \t" },
		"a long reason":    func(c *Call) { c.Reason = strings.Repeat("x", MaxReason+1) },
		"no UTF-8":         func(c *Call) { c.Reason = "\xff" },
		"a long name":      func(c *Call) { c.By = strings.Repeat("x", maxBy+1) },
		"a long ID":        func(c *Call) { c.Operation = strings.Repeat("x", maxID+1) },
		"an ID with a tab": func(c *Call) { c.Operation = "a\tb" },
	} {
		c := good
		change(&c)
		err := c.Check()
		expect.That(t, errors.Is(err, ErrOptions), "%s: %v", name, err)
		expect.Equal(t, errors.Is(err, ErrNoReason), name == "no reason", name, "has no reason")
	}
}

// The time of an operation bounds the audit events that are read for it.
func TestNewID_containsItsTime(t *testing.T) {
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	id := NewID("discard", at)
	must.Do(t, CheckID(id))
	expect.That(t, strings.HasPrefix(id, "discard-20261103T040506Z-") && id != NewID("discard", at), "%s", id)
	expect.Equal(t, TimeOf(id), at, "time of", id)
	for _, other := range []string{"", "level-fix", "replay-yesterday-1", "a-b-c-d"} {
		expect.That(t, TimeOf(other).IsZero(), "%q has the time %s", other, TimeOf(other))
	}
}
