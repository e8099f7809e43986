package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// So does what the output topic takes: a dead letter whose output is too large for it would be one again.
func TestPlan_C4_S4_8_theOutputTopicsLimitJudges(t *testing.T) {
	w := parallel(t)
	limit, compact := "16384", "compact"
	must.Get(kadm.NewClient(w.writer).CreateTopic(w.ctx(), 1, 1, map[string]*string{"max.message.bytes": &limit, "cleanup.policy": &compact}, w.cfg.Output.Topic))(t)
	w.cfg.Source.NullKeys = config.NullKeysAccept
	good, keyless, large := letter(0, "good", fmt.Sprintf(square, "good")), letter(1, "keyless", fmt.Sprintf(square, "keyless")), letter(2, "large", fmt.Sprintf(square, "large"))
	keyless.Key = nil
	noise := make([]byte, 0, 40_000)
	for sum := sha256.Sum256(nil); len(noise) < 40_000; sum = sha256.Sum256(sum[:]) {
		noise = hex.AppendEncode(noise, sum[:]) // half of it is left when it is compressed
	}
	large.Headers = append(large.Headers, kgo.RecordHeader{Key: "note", Value: noise})
	w.die(good, keyless, large)
	s, p := w.planned()
	got := map[string]string{}
	for _, l := range w.letters(p) {
		got[l.ID] = string(l.Today.Code)
	}
	want := map[string]string{"good": "", "keyless": "null_key", "large": "output_too_large"}
	expect.That(t, maps.Equal(got, want), "the plan says %v, want %v", got, want)
	r := w.execute(s, p)
	expect.That(t, r.Reinjected == 1 && r.Left == 2, "%+v", r)
}

// kept says, as the consumer does for every key, what its newest version is; it is forgotten when there is none.
func (w *world) kept(id, property string, version ...int64) {
	w.t.Helper()
	hash := idempotency.HashKey([]byte("key of " + id))
	r := &kgo.Record{Topic: "features.state", Key: append([]byte("\x00switchback-checkpoint\x00v"), hash[:]...)}
	if len(version) > 0 {
		r.Value = fmt.Appendf(nil, `{"format":1,"version":[%d,%d,%d],"scale":%q}`, version[0], version[1], version[2], statetopic.ScaleOf(property))
	}
	w.die(r)
	w.dead--
}

// S0-6: the newest version of a key is known as long as the key, whatever the ledger and the key's state have forgotten.
func TestPlan_S0_6_predicts_by_the_versions_that_are_kept(t *testing.T) {
	t.Parallel()
	w := versioned(t)
	const own = "properties.rev"
	var letters []*kgo.Record
	for _, id := range []string{"newer", "older", "gone", "deleted", "state", "both", "elsewhere", "before", "expired"} {
		letters = append(letters, letter(0, id, fmt.Sprintf(revision, id, 5)))
	}
	w.die(letters...) // their offset is 40
	w.kept("newer", own, 6, 10, 0)
	w.kept("older", own, 4, 90, 0)
	w.kept("gone", own, 6, 10, 0)
	w.kept("gone", own)
	w.kept("deleted", own, 3, 60, 61)
	w.kept("state", own, 6, 10, 0)
	w.die(&kgo.Record{Topic: "features.state", Key: []byte("key of state")}) // the tombstone of the state is not one of the version
	w.dead--
	w.applied("both", 6, 10)
	w.kept("both", own, 4, 5, 0)
	w.kept("elsewhere", "properties.updated", 1000000, 39, 0) // numbers of another property: the offset decides
	w.kept("before", "properties.updated", 1, 41, 0)
	w.remembered("expired", 6, 10, 25*time.Hour)
	w.kept("another key", own, 9, 90, 0)
	want := map[string]bool{"newer": true, "deleted": true, "state": true, "both": true, "before": true}
	if p := w.plan(w.service(), deadletters.Filter{}); !maps.Equal(w.superseded(p), want) || p.Doubt != "" {
		t.Errorf("superseded %v, want %v; doubt %q", w.superseded(p), want, p.Doubt)
	}
	w.cfg.Ordering.Versions.Keep = config.KeepVersionsWindow // then the consumer does not read them
	got := w.superseded(w.plan(w.service(), deadletters.Filter{}))
	expect.That(t, maps.Equal(got, map[string]bool{"both": true}), "with keep: window %v", got)
}

// partLetter is the dead letter of a part of the record at offset 40.
func partLetter(index int, version int64) *deadletters.Letter {
	l := &deadletters.Letter{Key: []byte("k"), ContentHash: "sha256:00"}
	l.Control = header.Control{
		Source: header.Position{Topic: "features", Offset: 40}, HasSource: true, Part: header.Part{Index: index, Of: 8}, PartVersion: &version,
	}
	l.ID = "0-40-aabbccdd-" + string(rune('0'+index))
	return l
}

// gatedAnswers keeps the answers to one kind of request back until open is closed.
type gatedAnswers struct {
	key   int16
	asked chan struct{}
	open  chan struct{}
	once  sync.Once
}

var _ kgo.HookBrokerWrite = (*gatedAnswers)(nil)

// OnBrokerWrite waits behind the request.
func (g *gatedAnswers) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == g.key {
		g.once.Do(func() { close(g.asked) })
		<-g.open
	}
}

// S4-8: a call that asks what the output topic takes keeps no other call of the service waiting.
func TestOutputLimits_S4_8_holdNoOtherCallUp(t *testing.T) {
	w := parallel(t)
	gate := &gatedAnswers{key: int16(kmsg.DescribeConfigs), asked: make(chan struct{}), open: make(chan struct{})}
	s := w.service(kgo.WithHooks(gate))
	l := partLetter(1, 10)
	l.Content = &deadletters.Content{Value: []byte("{}")}
	first := make(chan struct{})
	go func() {
		s.DryRun().Verdict(w.ctx(), l, l.Content.Value)
		close(first)
	}()
	<-gate.asked
	interrupted, cancel := context.WithCancel(w.ctx())
	cancel()
	second := make(chan struct{})
	go func() {
		s.DryRun().Verdict(interrupted, l, l.Content.Value)
		close(second)
	}()
	select {
	case <-second:
	case <-w.ctx().Done():
		t.Error("it waits for the first call")
	}
	close(gate.open)
	<-first
}
