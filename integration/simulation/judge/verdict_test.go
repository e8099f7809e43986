package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// scenario builds evidence by hand. The tests violate each guarantee once, and the judge must report it.
type scenario struct {
	t    *testing.T
	e    Evidence
	used map[int]bool
	at   time.Time
}

func newScenario(t *testing.T, order retrytopics.Order) *scenario {
	t.Helper()
	m := &scenario{t: t, used: map[int]bool{}, at: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	m.e = Evidence{
		Plan: plan.Plan{
			Seed: 1, Cluster: plan.Cluster{Partitions: 1}, Load: plan.Load{Records: 500, Keys: 1, Hard: .4},
			Engine: plan.Engine{Instances: 1, Order: order, MaxAttempts: 3, Tiers: []time.Duration{time.Second}, Window: time.Hour, Sink: true, Trail: true},
		},
		Topics: Topics{Source: "s", Output: "o", Journal: "j", Losses: "l", DLQ: "d", Trail: "t", Tiers: []string{"r"}},
		Logs:   map[string][]*kgo.Record{}, Committed: map[string]map[int32]int64{}, Rows: map[string]Row{}, Bound: time.Minute,
	}
	return m
}

// event appends the next unused suitable event of the plan to the source, and returns its position.
func (m *scenario) event(wanted func(plan.Event) bool) (string, plan.Event) {
	m.t.Helper()
	for n := range m.e.Plan.Load.Records {
		if e := m.e.Plan.Event(n); !m.used[n] && e.Key != "" && e.Parts == 1 && wanted(e) {
			m.used[n] = true
			return m.put("s", e, nil), e
		}
	}
	m.t.Fatal("no event of the plan is suitable")
	return "", plan.Event{}
}

// put appends a record of an event to a topic.
func (m *scenario) put(topic string, e plan.Event, headers []kgo.RecordHeader) string {
	r := &kgo.Record{
		Topic: topic, Offset: m.next(topic), Key: []byte(e.Key), Value: fmt.Append(nil, e.Content),
		Headers: append([]kgo.RecordHeader{{Key: headerNumber, Value: fmt.Append(nil, e.Number)}}, headers...),
	}
	if e.Delete {
		r.Value = nil
	}
	m.e.Logs[topic] = append(m.e.Logs[topic], r)
	if m.e.Committed[topic] == nil {
		m.e.Committed[topic] = map[int32]int64{}
	}
	m.e.Committed[topic][0] = r.Offset + 1
	return topiclog.Position(r)
}

func headersOf(pairs ...string) (out []kgo.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return out
}

// step appends a step to the journal, with the records that the step writes to other topics. It returns the position in
// the tier if the record waits.
func (m *scenario) step(source, position, decision string, attempt int, change ...func(*journal.Step)) (next string) {
	m.t.Helper()
	in := newHistory(m.e).byPlace[source]
	key := in.event.Key
	s := journal.Step{Decision: decision, Source: source, Position: position, Key: &key, Attempt: attempt, Reason: "handled", Worker: "i0"}
	s.Started = m.at
	for _, other := range in.steps {
		if !other.Finished() {
			s.Due = other.Next
		}
	}
	m.at = m.at.Add(5 * time.Second)
	switch decision {
	case "retried":
		s.Destination, s.Next = "r", s.Started.Add(time.Second)
	case "delivered":
		s.Destination = "o"
	case "dead_lettered":
		s.Destination = "d"
	case "parked":
		s.Started, s.Destination, s.Next = time.Time{}, "r", m.at
	}
	for _, f := range change {
		f(&s)
	}
	switch decision {
	case "retried", "parked":
		next = m.put("r", in.event, headersOf(headerSource, source, headerDue, s.Next.UTC().Format(time.RFC3339Nano)))
	case "delivered":
		m.put("o", in.event, headersOf(headerSource, source))
		if in.event.Delete {
			delete(m.e.Rows, key)
		} else {
			m.e.Rows[key] = Row{Source: source, Content: in.event.Content}
		}
	case "dead_lettered":
		m.put("d", in.event, headersOf(headerSource, source, "switchback-dead-letter-id", "x"))
	}
	m.log(s)
	if !s.Started.IsZero() {
		m.e.Calls = append(m.e.Calls, Call{Source: source, Position: position, Attempt: attempt, Instance: "i0", At: s.Started, Due: s.Due})
	}
	return next
}

// log appends a step to the journal, and a link to the trail.
func (m *scenario) log(s journal.Step) {
	r := must.Get(s.Record("j", 0))(m.t)
	r.Offset = int64(len(m.e.Logs["j"]))
	m.e.Logs["j"] = append(m.e.Logs["j"], r)
	link := Link{Number: 1, Steps: []string{Step(s.Position, s.Decision)}}
	if n := len(m.e.Logs["t"]); n > 0 {
		before := decodeLink(m.t, m.e.Logs["t"][n-1])
		link.Number, link.Before = before.Number+1, before.Hash()
	}
	m.e.Logs["t"] = append(m.e.Logs["t"], &kgo.Record{Topic: "t", Offset: int64(len(m.e.Logs["t"])), Value: encodeLink(m.t, link)})
}

func succeeds(e plan.Event) bool  { return e.Fate == plan.FateDone && !e.Delete }
func transient(e plan.Event) bool { return e.Fate == plan.FateTransient && e.Asks == 0 && !e.Delete }
func permanent(e plan.Event) bool { return e.Fate == plan.FatePermanent && e.Deaths == 1 && !e.Delete }
func filtered(e plan.Event) bool  { return e.Fate == plan.FateFiltered }
func isDelete(e plan.Event) bool  { return e.Fate == plan.FateDone && e.Delete }
func hasContent(content int) func(plan.Event) bool {
	return func(e plan.Event) bool { return succeeds(e) && e.Content == content }
}

// decide makes the first decision about a new event. It returns the event's position, and its position in the tier if it
// waits.
func (m *scenario) decide(wanted func(plan.Event) bool, decision string, change ...func(*journal.Step)) (at, tier string) {
	at, _ = m.event(wanted)
	return at, m.step(at, at, decision, 1, change...)
}

// deliver delivers a new event at its first attempt.
func (m *scenario) deliver(wanted func(plan.Event) bool) string {
	at, _ := m.decide(wanted, "delivered")
	return at
}

// wantNone checks that no promise is broken.
func (m *scenario) wantNone() {
	m.t.Helper()
	for _, v := range Verdict(m.e) {
		m.t.Error(v)
	}
}

// replay reinjects a dead letter.
func (m *scenario) replay(source string, headers ...string) string {
	in := newHistory(m.e).byPlace[source]
	return m.put("s", in.event, headersOf(append([]string{headerSource, source, headerReplay, "r1"}, headers...)...))
}

// allDecisions is a history with every allowed decision, in strict order.
func (m *scenario) allDecisions() {
	m.deliver(succeeds)
	at, tier := m.decide(transient, "retried")
	tier = m.step(at, tier, "parked", 1)
	m.step(at, tier, "delivered", 2)
	at, _ = m.decide(permanent, "dead_lettered")
	back := m.replay(at)
	m.step(at, back, "delivered", 1)
	m.decide(filtered, "filtered")
	m.deliver(hasContent(0))
	again, _ := m.event(hasContent(0))
	m.step(again, again, "duplicate", 1)
	m.deliver(isDelete)
	m.deliver(hasContent(0))
}

func TestVerdict_findsNothingWhereEverythingWasKept(t *testing.T) {
	for _, order := range retrytopics.Orders() {
		t.Run(string(order), func(t *testing.T) {
			m := newScenario(t, order)
			m.allDecisions()
			m.wantNone()
		})
	}
}

// duplicateBeforeItsOriginal is a history in which a duplicate of the first event was attempted, and its row written,
// before the first event was finished. An event in between takes effect last.
func (m *scenario) duplicateBeforeItsOriginal() (row Row) {
	m.deliver(hasContent(0))
	between, _ := m.event(hasContent(1))
	again, e := m.event(hasContent(0))
	m.step(again, again, "duplicate", 1)
	m.step(between, between, "delivered", 1)
	return Row{Source: again, Content: e.Content}
}

func TestVerdict_withoutAnOrderTheTableMayHaveTheRowOfANewerDuplicate(t *testing.T) {
	m := newScenario(t, retrytopics.OrderNone)
	m.e.Rows["k0"] = m.duplicateBeforeItsOriginal()
	m.wantNone()
}

// deliverOvertaken delivers a waiting event after another one.
func (m *scenario) deliverOvertaken(by func(plan.Event) bool) {
	at, tier := m.decide(transient, "retried")
	m.deliver(by)
	m.step(at, tier, "delivered", 2)
}

// replayAfterNewer delivers a dead letter after a newer event.
func (m *scenario) replayAfterNewer(headers ...string) {
	at, _ := m.decide(permanent, "dead_lettered")
	m.deliver(succeeds)
	m.step(at, m.replay(at, headers...), "delivered", 1)
}

func TestVerdict_findsEachBreach(t *testing.T) {
	strict, latest, none := retrytopics.OrderStrict, retrytopics.OrderLatestWins, retrytopics.OrderNone
	cases := []struct {
		name  string
		order retrytopics.Order
		do    func(*scenario)
		want  string // part of a violation, with its property
	}{
		{"lost", none, func(m *scenario) { m.event(succeeds) }, "conservation: s/0/0: it was lost: the journal has no step of it"},
		{"lost in a tier", none, func(m *scenario) { m.decide(transient, "retried") }, "conservation: s/0/0: it was lost"},
		{"in two places", none, func(m *scenario) {
			at := m.deliver(succeeds)
			m.put("d", m.e.Plan.Event(0), headersOf(headerSource, at, "switchback-dead-letter-id", "x"))
		}, "conservation: s/0/0: is in 2 places"},
		{"delivered twice", none, func(m *scenario) { at := m.deliver(succeeds); m.step(at, at, "delivered", 1) }, "exactly once: s/0/0: s/0/0 was read twice"},
		{"read from another tier", none, func(m *scenario) { at, _ := m.decide(transient, "retried"); m.step(at, "q/0/0", "delivered", 2) }, "conservation: s/0/0: it was written to r and read at q/0/0"},
		{"attempt numbered wrong", none, func(m *scenario) { at, tier := m.decide(transient, "retried"); m.step(at, tier, "delivered", 3) }, "conservation: s/0/0: attempt 2 is numbered 3"},
		{"too many attempts", none, func(m *scenario) {
			at, _ := m.event(transient)
			next := at
			for n := range 4 {
				next = m.step(at, next, "retried", n+1)
			}
		}, "handler calls: s/0/0: attempt 4, but only 3 are allowed"},
		{"called too often", none, func(m *scenario) {
			m.deliver(succeeds)
			for range 3 {
				m.e.Calls = append(m.e.Calls, m.e.Calls[0])
			}
		}, "handler calls: s/0/0: its handler was called 4 times, at most 3"},
		{"early", none, func(m *scenario) {
			at, tier := m.decide(transient, "retried")
			m.step(at, tier, "delivered", 2)
			m.e.Calls[1].At = m.e.Calls[1].Due.Add(-time.Millisecond)
		}, "never early: s/0/0: attempt 2 began"},
		{"due before its delay", none, func(m *scenario) {
			m.decide(transient, "retried", func(s *journal.Step) { s.Next = s.Started.Add(time.Second - time.Millisecond) })
		}, "never early: s/0/0: attempt 1 began at"},
		{"due time differs from the previous step", none, func(m *scenario) {
			at, tier := m.decide(transient, "retried")
			m.step(at, tier, "delivered", 2, func(s *journal.Step) { s.Due = s.Due.Add(-time.Millisecond) })
		}, "never early: s/0/0: put back until"},
		{"header and step have different due times", none, func(m *scenario) {
			at, tier := m.decide(transient, "retried")
			m.step(at, tier, "delivered", 2)
			m.e.Logs["r"][0].Headers[2].Value = []byte("2000-01-01T00:00:00.001Z")
		}, "never early: s/0/0: it is due at 2000-01-01 00:00:00.001 +0000 UTC by its header at r/0/0"},
		{"dead letter without a cause", none, func(m *scenario) { m.decide(succeeds, "dead_lettered") }, "conservation: s/0/0: it became a dead letter in life 0"},
		{"delivered though it must fail", none, func(m *scenario) { m.deliver(permanent) }, "conservation: s/0/0: it was delivered in life 0"},
		{"filtered without a cause", none, func(m *scenario) { m.decide(succeeds, "filtered") }, "conservation: s/0/0: it was filtered"},
		{"unknown decision", none, func(m *scenario) { m.decide(succeeds, "skipped") }, "conservation: s/0/0: no handler of the simulation ends with skipped"},
		{"duplicate of nothing", none, func(m *scenario) { m.deliver(hasContent(0)); m.decide(hasContent(1), "duplicate") }, "conservation: s/0/1: it is closed as a duplicate, but s/0/0 took effect last"},
		{"a duplicate that took effect", none, func(m *scenario) { m.deliver(hasContent(0)); m.deliver(hasContent(0)) }, "exactly once: s/0/1: it took effect with the same content as s/0/0"},
		{"superseded without an order", none, func(m *scenario) { m.deliver(succeeds); m.decide(succeeds, "superseded") }, `order: s/0/1: it was closed as superseded`},
		{"superseded by nothing", latest, func(m *scenario) { m.deliver(succeeds); m.decide(succeeds, "superseded") }, "order: s/0/1: it is closed as superseded, but nothing newer had taken effect"},
		{"older after newer", latest, func(m *scenario) { m.deliverOvertaken(succeeds) }, "order: s/0/0: it took effect after s/0/1, which is newer"},
		{"older after a delete", latest, func(m *scenario) { m.deliverOvertaken(isDelete) }, "order: s/0/0: it took effect after s/0/1, which is newer"},
		{"an older version after a newer one", latest, func(m *scenario) {
			m.e.Plan.Engine.Versioned = true
			m.deliver(func(e plan.Event) bool { return succeeds(e) && e.Version > 3000 })
			m.deliver(func(e plan.Event) bool { return succeeds(e) && e.Version < 100 })
		}, "order: s/0/1: it took effect after s/0/0, which is newer"},
		{"a replay over newer data", latest, func(m *scenario) { m.replayAfterNewer() }, "order: s/0/0: it took effect after s/0/1, which is newer"},
		{"forced without the reason", latest, func(m *scenario) { m.replayAfterNewer(headerForce, "true") }, "order: s/0/0: it took effect over newer data (true), and the reason is handled"},
		{"out of order", strict, func(m *scenario) { m.deliverOvertaken(succeeds) }, "order: s/0/0: it was finished after s/0/1, which is later in the source"},
		{"while the key is blocked", strict, func(m *scenario) {
			m.e.Plan.Engine.OnDeadLetter = retrytopics.OnDeadLetterHoldKey
			m.decide(permanent, "dead_lettered")
			m.deliver(succeeds)
		}, "order: s/0/1: it was finished (delivered) while the dead letter of s/0/0 blocks its key"},
		{"another order in the output", none, func(m *scenario) {
			m.deliver(hasContent(0))
			m.deliver(hasContent(1))
			o := m.e.Logs["o"]
			o[0], o[1] = o[1], o[0]
		}, "order: s/0/0: key"},
		{"an older row", latest, func(m *scenario) {
			m.deliver(hasContent(0))
			rows := m.e.Rows["k0"]
			m.deliver(hasContent(1))
			m.e.Rows["k0"] = rows
		}, `sink: s/0/1: it took effect last for key "k0", but the table has the row of "s/0/0"`},
		{"the row of an older duplicate", none, func(m *scenario) {
			row := m.duplicateBeforeItsOriginal()
			m.deliver(hasContent(1))
			m.e.Rows["k0"] = row
		}, `sink: s/0/3: it took effect last for key "k0", but the table has the row of "s/0/2"`},
		{"a row that was deleted", latest, func(m *scenario) {
			m.deliver(succeeds)
			row := m.e.Rows["k0"]
			m.deliver(isDelete)
			m.e.Rows["k0"] = row
		}, `sink: s/0/1: it deleted key "k0"`},
		{"a gap in the trail", none, func(m *scenario) { m.allDecisions(); m.e.Logs["t"] = append(m.e.Logs["t"][:1], m.e.Logs["t"][2:]...) }, "exactly once: trail of partition 0: link 3 follows link 1"},
		{"a step that the trail does not have", none, func(m *scenario) { m.allDecisions(); m.e.Logs["t"] = m.e.Logs["t"][:3] }, "the trail \"\""},
		{"too many records in a process", none, func(m *scenario) { m.e.Held = []Held{{"i0", 11, 10}} }, "memory: i0 had 11 records"},
		{"busy loop", none, func(m *scenario) { m.e.Busy = MostBusy(m.e.Plan) + 1 }, "pause: "},
		{"unfinished", none, func(m *scenario) { m.e.Rest, m.e.Left = -1, "s/0 from 1 to 2" }, "progress: after 1m0s, this is unfinished: s/0 from 1 to 2"},
		{"unreported loss", none, func(m *scenario) { m.event(succeeds); m.prune() }, "conservation: s/0/0: it was deleted before it was read, and no engine reported it as lost"},
		{"a loss of another range", none, func(m *scenario) { m.event(succeeds); m.event(succeeds); m.prune(); m.reportLoss(1, 2, 1) }, "conservation: s/0/0: it was deleted"},
		{"a loss of too few", none, func(m *scenario) { m.event(succeeds); m.event(succeeds); m.prune(); m.reportLoss(0, 2, 1) }, "1 records of partition 0, from 0 to 1, are lost; 2 to 2 are"},
		{"a loss of a delivered record", none, func(m *scenario) { m.deliver(succeeds); m.prune(); m.reportLoss(0, 1, 1) }, "1 records of partition 0, from 0 to 0, are lost; 0 to 0 are"},
		{"a loss of an existing record", none, func(m *scenario) { m.deliver(succeeds); m.reportLoss(0, 1, 1) }, "1 records of partition 0, from 0 to 0, are lost; 0 to 0 are"},
		{"a loss twice", none, func(m *scenario) { m.event(succeeds); m.prune(); m.reportLoss(0, 1, 1); m.reportLoss(0, 1, 1) }, "exactly once: partition 0 is reported as lost twice"},
		{"a loss of a tier", none, func(m *scenario) {
			m.reportLoss(0, 1, 1)
			m.e.Logs["l"][0].Value = []byte(`{"Topic":"r","From":0,"To":1,"Records":1}`)
		}, "an engine reported 1 lost records of r"},
		{"unexpected end of an engine", none, func(m *scenario) { m.e.GaveUp = []string{"i0: TOPIC_AUTHORIZATION_FAILED"} }, "survival: i0"},
	}
	seen := map[Property]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newScenario(t, c.order)
			c.do(m)
			var lines []string
			for _, v := range Verdict(m.e) {
				lines = append(lines, v.String())
				if strings.Contains(v.String(), c.want) {
					seen[v.Property] = true
					return
				}
			}
			t.Errorf("found %q, want %q", lines, c.want)
		})
	}
	for _, p := range Properties() {
		expect.That(t, seen[p], "no case breaks the promise %q", p)
	}
}

// A result that a fault explains violates no guarantee.
func TestVerdict_knowsWhatAFaultExplains(t *testing.T) {
	m := newScenario(t, retrytopics.OrderNone)
	m.e.Plan.Faults = []plan.Fault{{Kind: plan.KindDeny}, {Kind: plan.KindFailing}}
	m.e.GaveUp = []string{"i0: TOPIC_AUTHORIZATION_FAILED"}
	m.decide(transient, "dead_lettered")
	m.wantNone()
}

func TestJourney_tellsTheWayOfARecordAndItsKey(t *testing.T) {
	m := newScenario(t, retrytopics.OrderNone)
	m.allDecisions()
	journey := Journey(m.e, "s/0/1")
	for _, part := range []string{`s/0/1: key "k0"`, "attempt 2, from r/0/1", "* s/0/1", "  s/0/0", "retried", "parked", "delivered"} {
		expect.That(t, strings.Contains(journey, part), "the journey lacks %q:\n%s", part, journey)
	}
}

// prune deletes all records of the source, as retention does.
func (m *scenario) prune() {
	m.e.Pruned = append(m.e.Pruned, m.e.Logs["s"]...)
	m.e.Logs["s"] = nil
}

// next returns the offset of the next record of a topic.
func (m *scenario) next(topic string) int64 { return m.e.Committed[topic][0] }

// reportLoss makes an engine report lost offsets of the source.
func (m *scenario) reportLoss(from, to, records int64) {
	value := must.Get(json.Marshal(retrytopics.Loss{Topic: "s", From: from, To: to, Records: records}))(m.t)
	m.e.Logs["l"] = append(m.e.Logs["l"], &kgo.Record{Topic: "l", Offset: int64(len(m.e.Logs["l"])), Value: value})
}

// One record is delivered and two are lost. The engine that takes over has the list of finished records.
func TestVerdict_takesWhatAnEngineSaysIsLost(t *testing.T) {
	m := newScenario(t, retrytopics.OrderStrict)
	m.deliver(succeeds)
	m.event(succeeds)
	m.event(succeeds)
	m.prune()
	m.reportLoss(0, 3, 2)
	m.deliver(succeeds)
	m.wantNone()
}

func decodeLink(t *testing.T, r *kgo.Record) (link Link) {
	t.Helper()
	must.Do(t, json.Unmarshal(r.Value, &link))
	return link
}

func encodeLink(t *testing.T, link Link) []byte {
	t.Helper()
	return must.Get(json.Marshal(link))(t)
}
