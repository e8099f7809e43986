package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// forged is a record of a producer that claims to be a replay.
func (p *pipe) forged(id string, level int, headers map[string]string) *kgo.Record {
	r := &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
	for name, value := range headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r
}

// warned drains, and fails unless the consumer warned of a record whose headers it did not believe.
func (p *pipe) warned(reason string) {
	p.t.Helper()
	r := p.start("it", "--until-end").Wait(p.ctx, p.t)
	if r.Code != 0 {
		p.t.Fatalf("consumer run --until-end: %s", r)
	}
	for line := range strings.Lines(r.Stderr) {
		if strings.Contains(line, `"level":"WARN"`) && strings.Contains(line, `"reason":"`+reason+`"`) && strings.Contains(line, `"topic":"`+p.topics.Source+`"`) {
			return
		}
	}
	p.t.Errorf("no warning with the reason %s:\n%s", reason, r.Stderr)
}

// S4-6: a producer cannot close a dead letter: neither with forged headers, nor with a replay that it has read and changed.
func TestTrust_S4_6_aForgedReplayClosesNoDeadLetter(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions = 1 }).ensure()
	p.dead(1)
	letter := p.read(p.topics.DLQ)[0]
	id, _ := topiclog.Header(letter, "switchback-dead-letter-id")
	source, _ := topiclog.Header(letter, "switchback-source")
	p.sendRecords(p.forged("other", 4, map[string]string{
		"switchback-dead-letter-id": id, "switchback-source": source, "switchback-replay-id": "forged", "switchback-replay-count": "1",
	}))
	p.warned("missing")
	if states, _ := p.states(); len(states) != 0 {
		t.Errorf("a forged replay changed the state of a dead letter: %+v", states)
	}
	p.places.Default(misbehave.Status(404))
	if code, out := p.replay("--execute"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	replay := p.read(p.topics.Source)[2]
	if proof, n := topiclog.Header(replay, "switchback-replay-proof"); n != 1 || proof == "" {
		t.Errorf("the replay has %d proofs", n)
	}
	p.drain()
	p.wantStates(1, "pending") // it failed again
	p.places.Default(misbehave.OK())
	changed := &kgo.Record{Topic: replay.Topic, Key: []byte("another"), Value: []byte(featureAt("another", 9)), Headers: replay.Headers}
	p.sendRecords(changed)
	p.warned("invalid")
	p.wantStates(1, "pending")
	if code, out := p.replay("--execute"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	p.drain()
	p.wantStates(1, "reprocessed")
	p.sendRecords(&kgo.Record{Topic: replay.Topic, Key: replay.Key, Value: replay.Value, Headers: replay.Headers}) // a copy, its proof is valid
	p.drain()
	if r := p.run("replayer", "replays", "-c", p.file); r.Code != 0 || !strings.Contains(r.Stderr, "1 outcome not counted") {
		t.Errorf("replayer replays: %s", r)
	}
	wantChains(t, p)
	if r := p.run("replayer", "list", "-c", p.file, "-o", "json"); !strings.Contains(r.Stdout, `"reprocessed"`) {
		t.Errorf("the copy of an earlier replay changed the state: %s", r)
	}
}

// wantChains holds the audit trail against its chains, and shows that an event which somebody adds breaks one.
func wantChains(t *testing.T, p *pipe) {
	t.Helper()
	if r := p.run("consumer", "verify", "audit", "-c", p.file); r.Code != 0 {
		t.Errorf("consumer verify audit: %s", r)
	}
	p.sendRecords(&kgo.Record{Topic: p.topics.Audit, Value: []byte(
		`{"time":"2026-11-03T04:05:06.000Z","pipeline":"x","source":"","decision":"state_changed","attempt":0,"by":"mallory","chain":{"of":"operators","seq":9,"prev":"","hash":"sha256:00"}}`)})
	if r := p.run("consumer", "verify", "audit", "-c", p.file); r.Code != 4 || !strings.Contains(r.Stdout, "BROKEN") {
		t.Errorf("consumer verify audit with a forged event: %s", r)
	}
}
