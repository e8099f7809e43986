package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// drill counts what an operator types.
type drill struct {
	*pipe
	typed []string
}

// types runs one command with the pipeline file and wants its exit code and, in what it prints, these words.
func (d *drill) types(code int, command string, says ...string) proc.Result {
	d.t.Helper()
	d.typed = append(d.typed, command)
	words := strings.Fields(command)
	var args []string
	for _, word := range words[1:] { // + is a space within a word
		args = append(args, strings.ReplaceAll(word, "+", " "))
	}
	r := d.run(words[0], append(args, "-c", d.file)...)
	if r.Code != code {
		d.t.Fatalf("%s: want exit code %d: %s", command, code, r)
	}
	for _, word := range says {
		if !strings.Contains(r.Stdout+r.Stderr, word) {
			d.t.Errorf("%s does not say %q: %s", command, word, r)
		}
	}
	return r
}

// S0-4, S4-8: an operator is paged at 3 AM. 6,000 dead letters of two causes lie in the DLQ, and 500 records fail transiently. One cause is
// fixed in the mapping, the other one is given up. It takes ten commands, nothing is delivered twice, and the last words are those of
// consumer verify records and of the audit trail.
func TestDrill_S0_4_S4_8(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const fine, fixed, lost, transient = 500, 4800, 1200, 500
	d := &drill{pipe: newPipe(t, 4*time.Minute).ensure()}
	for _, id := range ids("lost", lost) {
		d.places.Script(id, misbehave.Status(404))
	}
	for _, id := range ids("busy", transient) {
		d.places.Script(id, misbehave.Status(503), misbehave.Status(503), misbehave.OK())
	}
	d.send(slices.Concat(ids("fine", fine), ids("busy", transient), ids("lost", lost))...)
	d.sendInMetres(ids("metres", fixed))
	consumer := d.start("it")
	d.log.Tail(t, d.topics.DLQ).UntilCount(d.ctx, t, "the dead letters", fixed+lost)

	began := time.Now()
	d.types(0, "consumer status", "1 instance is running")
	d.types(0, "replayer groups -o table", fmt.Sprint(fixed), fmt.Sprint(lost), "coercion_failed", "http_not_found")
	d.types(0, "replayer list --code coercion_failed --limit 1 --details", "12 m", "/properties/level")
	d.readsMetres()
	d.types(0, "consumer validate")
	consumer.Signal(t, syscall.SIGTERM)
	stopped := consumer.Wait(d.ctx, t)
	if stopped.Code != 0 {
		t.Fatalf("the consumer that is replaced: %s", stopped)
	}
	d.start("it")
	d.types(exitRefused, "replayer replay --code coercion_failed", fmt.Sprintf("today's transform passes %d, refuses 0", fixed), fmt.Sprintf("--expect %d", fixed))
	d.types(0, fmt.Sprintf("replayer replay --code coercion_failed --expect %d --canary 5 --ramp 10x --wait --execute --reason level+in+metres+is+read", fixed), fmt.Sprintf(`"reinjected":%d`, fixed))
	d.types(exitRefused, "replayer discard --code http_not_found", fmt.Sprintf("--expect %d", lost))
	d.types(0, fmt.Sprintf("replayer discard --code http_not_found --expect %d --execute --reason places+that+never+were", lost))
	d.log.Tail(t, d.topics.Output).UntilCount(d.ctx, t, "the outputs", fine+transient+fixed)
	d.types(0, "consumer verify records", "PROVEN")
	d.types(0, "replayer audit --operations", fmt.Sprint(fixed), fmt.Sprint(lost), "places that never were")
	t.Logf("%d commands in %v", len(d.typed), time.Since(began).Round(time.Second))
	if len(d.typed) > 10 {
		t.Errorf("%d commands, at most 10 are wanted: %q", len(d.typed), d.typed)
	}
	wantTotals(t, d.verify(), fine+transient+fixed+lost, conservation.Place{Output: fine + transient + fixed, Letters: fixed + lost, Replays: fixed})
}

// sendInMetres sends features whose level is a text with a unit.
func (p *pipe) sendInMetres(ids []string) {
	p.t.Helper()
	records := p.records(ids...)
	for _, r := range records {
		r.Value = []byte(strings.Replace(string(r.Value), `"level": 3`, `"level": "12 m"`, 1))
	}
	p.sendRecords(records...)
}

// readsMetres fixes the mapping in the pipeline file.
func (p *pipe) readsMetres() {
	p.t.Helper()
	text, err := os.ReadFile(p.file)
	if err != nil {
		p.t.Fatal(err)
	}
	const was = "{ from: level, to: level, type: integer }"
	now := `{ to: level, type: integer, expr: 'int(trimSuffix(string(properties.level), " m"))' }`
	if !strings.Contains(string(text), was) {
		p.t.Fatal("the pipeline file has another mapping")
	}
	if err := os.WriteFile(p.file, []byte(strings.Replace(string(text), was, now, 1)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
