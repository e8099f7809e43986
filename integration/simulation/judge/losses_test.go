package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// prune deletes everything in the source so far, as retention does.
func (m *made) prune() {
	m.e.Pruned = append(m.e.Pruned, m.e.Logs["s"]...)
	m.e.Logs["s"] = nil
}

// next is the offset of the next record of a topic.
func (m *made) next(topic string) int64 { return m.e.Committed[topic][0] }

// saysLost lets an engine say that offsets of the source are lost.
func (m *made) saysLost(from, to, records int64) {
	value := must.Get(json.Marshal(retrytopics.Loss{Topic: "s", From: from, To: to, Records: records}))(m.t)
	m.e.Logs["l"] = append(m.e.Logs["l"], &kgo.Record{Topic: "l", Offset: int64(len(m.e.Logs["l"])), Value: value})
}

// One record is delivered and two are lost; the engine that takes over knows what is finished.
func TestVerdict_takesWhatAnEngineSaysIsLost(t *testing.T) {
	m := newMade(t, retrytopics.OrderStrict)
	m.delivered(done)
	m.event(done)
	m.event(done)
	m.prune()
	m.saysLost(0, 3, 2)
	m.delivered(done)
	for _, v := range Verdict(m.e) {
		t.Error(v)
	}
}

func TestVerdict_findsWhatIsWrongWithALoss(t *testing.T) {
	cases := []struct {
		name string
		do   func(*made)
		want string
	}{
		{"nobody says so", func(m *made) { m.event(done); m.prune() }, "conservation: s/0/0: it was deleted before it was taken, and no engine says so"},
		{"of another range", func(m *made) { m.event(done); m.event(done); m.prune(); m.saysLost(1, 2, 1) }, "conservation: s/0/0: it was deleted"},
		{"too few", func(m *made) { m.event(done); m.event(done); m.prune(); m.saysLost(0, 2, 1) }, "1 records of partition 0, from 0 to 1, are lost; 2 to 2 are"},
		{"what was delivered", func(m *made) { m.delivered(done); m.prune(); m.saysLost(0, 1, 1) }, "1 records of partition 0, from 0 to 0, are lost; 0 to 0 are"},
		{"what is there", func(m *made) { m.delivered(done); m.saysLost(0, 1, 1) }, "1 records of partition 0, from 0 to 0, are lost; 0 to 0 are"},
		{"twice", func(m *made) { m.event(done); m.prune(); m.saysLost(0, 1, 1); m.saysLost(0, 1, 1) }, "exactly once: partition 0 is said to be lost twice"},
		{"of a tier", func(m *made) {
			m.saysLost(0, 1, 1)
			m.e.Logs["l"][0].Value = []byte(`{"Topic":"r","From":0,"To":1,"Records":1}`)
		}, "an engine lost 1 records of r"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newMade(t, retrytopics.OrderNone)
			c.do(m)
			for _, v := range Verdict(m.e) {
				if strings.Contains(v.String(), c.want) {
					return
				}
			}
			t.Errorf("found %v, want %q", Verdict(m.e), c.want)
		})
	}
}

func linkOf(t *testing.T, r *kgo.Record) (link Link) {
	t.Helper()
	must.Do(t, json.Unmarshal(r.Value, &link))
	return link
}

func textOf(t *testing.T, link Link) []byte {
	t.Helper()
	return must.Get(json.Marshal(link))(t)
}
