package retrytopics

import (
	"reflect"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// What is remembered of a key is all of it.
func TestKeyState_S3_1_isReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, st := range []keyorder.State{
		{Next: 2, Last: 5, Tier: 1, Due: due, Waiting: 3, DeadLetters: 2, Applied: &header.Version{Number: -7, Offset: 40}, Deleted: 9},
		{Next: 1, Held: "L", HeldParts: "1-3,17", HeldRemaining: true},
	} {
		r := must.Get(encodeState("s", 0, "k", st, ScaleOffset))(t)
		got := must.Get(decodeState(r.Value, ScaleOffset))(t)
		expect.That(t, reflect.DeepEqual(got, st), "%s was read as %+v", r.Value, got)
	}
	for _, text := range []string{`{"format":2}`, `{"format":1,"held":"L","held_parts":"3-1"}`, `{"format":1,"held":"L","held_parts":"x"}`, `{"format":1,"last":-1}`} {
		st, err := decodeState([]byte(text), ScaleOffset)
		expect.That(t, err != nil, "%s was read as %+v", text, st)
	}
}
