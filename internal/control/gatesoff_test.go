package control

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func gatesOff(length time.Duration) State {
	return State{Phase: Running, Code: CodeOperator, Reason: "known", By: "ana", At: noon, GatesOff: noon.Add(length)}
}

// S1-8, S4-12: the end is an instant in the record, and an earlier version reads a pipeline that runs.
func TestState_S1_8_S4_12_gatesOff(t *testing.T) {
	r := must.Get(PipelineRecord("c", gatesOff(10*time.Minute)))(t)
	const want = `{"version":1,"state":"running","code":"operator","reason":"known","by":"ana","at":"2026-07-01T12:00:00.250Z","gates_off_until":"2026-07-01T12:10:00.250Z"}`
	expect.That(t, string(r.Value) == want, "got %s", r.Value)
	got := gatesOff(10 * time.Minute).String()
	expect.That(t, strings.HasSuffix(got, "(operator), rate gates off until 2026-07-01T12:10:00Z"), "in words: %s", got)
	v := newView()
	err := v.apply(r)
	expect.That(t, err == nil && v.Pipeline.GatesOff.Equal(noon.Add(10*time.Minute)), "read back: %+v, %v", v.Pipeline, err)
	var earlier struct { // the fields of the version before
		Version int    `json:"version"`
		State   Phase  `json:"state"`
		At      string `json:"at"`
	}
	err = json.Unmarshal(r.Value, &earlier)
	expect.That(t, err == nil && earlier.Version == 1 && earlier.State == Running, "an earlier version reads %+v, %v", earlier, err)
}

func TestState_S1_8_gatesOffBounds(t *testing.T) {
	for name, s := range map[string]State{
		"no time": gatesOff(0 - time.Second), "too long": gatesOff(MaxGatesOff + time.Second),
		"of a pause": {Phase: Held, At: noon, GatesOff: noon.Add(time.Minute)},
	} {
		_, err := PipelineRecord("c", s)
		expect.That(t, err != nil, "%s was taken", name)
	}
	for name, c := range map[string]struct {
		state, until string
		want         time.Time
		fails        bool
	}{
		"for years":        {"running", "2036-07-01T12:00:00Z", noon.Truncate(time.Second).Add(MaxGatesOff), false},
		"before the order": {"running", "2026-07-01T11:00:00Z", time.Time{}, false},
		"of a pause":       {"held", "2026-07-01T13:00:00Z", time.Time{}, false},
		"no time at all":   {"running", "soon", time.Time{}, true},
	} {
		v := newView()
		err := v.apply(&kgo.Record{Key: []byte(pipelineKey), Value: []byte(`{"version":1,"state":"` + c.state + `","at":"2026-07-01T12:00:00Z","gates_off_until":"` + c.until + `"}`)})
		expect.That(t, (err != nil) == c.fails && v.Pipeline.GatesOff.Equal(c.want) && (!c.fails || strings.Contains(err.Error(), "gates_off_until")),
			"%s: %s, %v", name, v.Pipeline.GatesOff, err)
	}
}

// By another machine's clock the gates are never off for longer than the order says.
func TestGatesOffUntil_S1_8_clocksDiffer(t *testing.T) {
	s := gatesOff(10 * time.Minute)
	for name, c := range map[string]struct{ heard, want time.Duration }{
		"at once": {0, 10 * time.Minute}, "later": {9 * time.Minute, 10 * time.Minute}, "at its end": {10 * time.Minute, -1},
		"the instance is a year behind": {-365 * 24 * time.Hour, -365*24*time.Hour + 10*time.Minute},
		"the instance is ahead":         {time.Hour, -1},
	} {
		want := noon.Add(c.want)
		if c.want == -1 {
			want = time.Time{}
		}
		got := s.GatesOffUntil(noon.Add(c.heard))
		expect.That(t, got.Equal(want), "%s: %s, want %s", name, got, want)
	}
	got := (State{Phase: Running, At: noon}).GatesOffUntil(noon)
	expect.That(t, got.IsZero(), "no such order: %s", got)
}
