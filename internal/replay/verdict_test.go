package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The verdict of a plan and of show is that of the consumer's gates: a letter without a key, or one that is too large, does not pass.
func TestPlan_C4_S4_8_theGatesOfTheConsumerJudge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Source.MaxRecordBytes = 1024
	good, keyless, empty := letter(0, "good", fmt.Sprintf(square, "good")), letter(1, "keyless", fmt.Sprintf(square, "keyless")), letter(2, "empty", fmt.Sprintf(square, "empty"))
	keyless.Key, empty.Key = nil, []byte{}
	large := letter(0, "large", strings.Replace(fmt.Sprintf(square, "large"), `"a"`, `"`+strings.Repeat("a", 1024)+`"`, 1))
	deleted := letter(1, "deleted", "")
	deleted.Key, deleted.Value = nil, nil
	w.die(good, keyless, empty, large, deleted)
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	got := map[string]string{}
	for _, l := range w.letters(p) {
		if l.Do != plan.Reinject {
			t.Errorf("%+v", l)
		}
		got[l.ID] = string(l.Today.Code)
		if l.Today.Passes != (l.Today.Code == "") {
			t.Errorf("%+v", l.Today)
		}
	}
	want := map[string]string{"good": "", "empty": "", "keyless": "null_key", "large": "record_too_large", "deleted": "null_key"}
	if !maps.Equal(got, want) {
		t.Errorf("the plan says %v, want %v", got, want)
	}
	if sum := p.Summary(); sum.WouldPass != 2 || sum.WouldFail != 3 {
		t.Errorf("%+v", sum)
	}
	if r := w.execute(s, p); r.Reinjected != 2 || r.Left != 3 {
		t.Errorf("%+v", r)
	}
}

// So does what the output topic takes: a dead letter whose output is too large for it would be one again.
func TestPlan_C4_S4_8_theOutputTopicsLimitJudges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	got := map[string]string{}
	for _, l := range w.letters(p) {
		got[l.ID] = string(l.Today.Code)
	}
	if want := map[string]string{"good": "", "keyless": "null_key", "large": "output_too_large"}; !maps.Equal(got, want) {
		t.Errorf("the plan says %v, want %v", got, want)
	}
	if r := w.execute(s, p); r.Reinjected != 1 || r.Left != 2 {
		t.Errorf("%+v", r)
	}
}
