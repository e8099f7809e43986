package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// story is a small true history that a test may falsify.
type story struct {
	p       Pipeline
	source  []*kgo.Record
	steps   []journal.Step
	outputs []string // source positions in the order of the output
	waited  []*kgo.Record
}

func clock(ms int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}

func at(n int) string { return fmt.Sprintf("s/0/%d", n) }

// value of a record; records with one id are equal.
func value(e feed.Event) []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return text
}

func (s *story) send(e feed.Event) {
	s.source = append(s.source, &kgo.Record{Topic: "s", Key: []byte("k"), Value: value(e), Offset: int64(len(s.source))})
}

func (s *story) step(source int, decision string, change ...func(*journal.Step)) {
	key := "k"
	step := journal.Step{Decision: decision, Source: at(source), Position: at(source), Key: &key, Attempt: 1, Started: clock(1000 * len(s.steps))}
	for _, c := range change {
		c(&step)
	}
	s.steps = append(s.steps, step)
	if decision == "delivered" {
		s.outputs = append(s.outputs, at(source))
	}
}

func waits(ms int) func(*journal.Step) {
	return func(s *journal.Step) { s.Destination, s.Next = "t1", s.Started.Add(time.Duration(ms)*time.Millisecond) }
}

func from(tier string, attempt int, due time.Time) func(*journal.Step) {
	return func(s *journal.Step) {
		s.Position, s.Attempt, s.Due, s.Started = tier, attempt, due, due.Add(5*time.Millisecond)
	}
}

// strictStory: a fails once and waits, its duplicate and a bad record wait behind it.
func strictStory() *story {
	s := &story{p: Pipeline{Source: "s", Output: "o", Journal: "j", Order: "strict", Attempts: 3, Tiers: []Tier{{"t1", 300 * time.Millisecond}, {"t2", time.Second}}}}
	s.send(feed.Event{ID: 1, Fails: 1})
	s.send(feed.Event{ID: 1, Fails: 1})
	s.send(feed.Event{ID: 2, Permanent: true})
	s.send(feed.Event{ID: 3})
	s.step(0, "retried", waits(350))
	parked := func(st *journal.Step) { st.Destination, st.Next, st.Started = "t1", clock(400), time.Time{} }
	s.step(1, "parked", parked)
	s.step(2, "parked", parked)
	s.step(0, "delivered", from("t1/0/0", 2, clock(350)))
	s.step(1, "duplicate", from("t1/0/1", 1, clock(400)))
	s.step(2, "dead_lettered", from("t1/0/2", 1, clock(400)))
	s.step(3, "delivered")
	s.waited = []*kgo.Record{{Topic: "t1", Offset: 0, Headers: []kgo.RecordHeader{{Key: "switchback-due", Value: []byte("2026-01-02T03:04:05.350Z")}}}}
	return s
}

// latestStory: an old event waits while a newer one takes effect.
func latestStory() *story {
	s := &story{p: Pipeline{Source: "s", Output: "o", Journal: "j", Order: "latest_wins", Attempts: 3, Tiers: []Tier{{"t1", 300 * time.Millisecond}}}}
	s.send(feed.Event{ID: 1})
	s.send(feed.Event{ID: 2, Fails: 1})
	s.send(feed.Event{ID: 3})
	s.send(feed.Event{ID: 3})
	s.step(0, "delivered")
	s.step(1, "retried", waits(350))
	s.step(2, "delivered")
	s.step(3, "duplicate")
	s.step(1, "superseded", from("t1/0/0", 2, clock(1350)))
	return s
}

func (s *story) faults(t *testing.T) []Fault {
	t.Helper()
	logs := map[string][]*kgo.Record{"s": s.source, "t1": s.waited}
	for i, step := range s.steps {
		r := must.Get(step.Record("j", 0))(t)
		r.Offset = int64(i)
		logs["j"] = append(logs["j"], r)
	}
	for i, position := range s.outputs {
		var n int
		must.Get(fmt.Sscanf(position, "s/0/%d", &n))(t)
		out := &kgo.Record{Topic: "o", Key: []byte("k"), Offset: int64(i), Headers: []kgo.RecordHeader{{Key: "switchback-source", Value: []byte(position)}}}
		if n < len(s.source) {
			out.Value = s.source[n].Value
		}
		logs["o"] = append(logs["o"], out)
	}
	h := must.Get(newHistory(s.p, logs))(t)
	for _, f := range h.Faults() {
		j := h.Journey(f.Source)
		expect.That(t, h.inputs[f.Source] == nil || strings.Contains(j, f.Source), "journey of %s does not tell of it: %s", f.Source, j)
	}
	return h.Faults()
}

func TestTrueStoriesHaveNoFaults(t *testing.T) {
	for _, s := range []*story{strictStory(), latestStory()} {
		faults := s.faults(t)
		expect.That(t, len(faults) <= 0, "%s: %v", s.p.Order, faults)
	}
}

// A check that cannot fail proves nothing: each breach must be seen, and named.
func TestEveryBreachIsSeen(t *testing.T) {
	drop := func(s *story, i int) { s.steps = slices.Delete(s.steps, i, i+1) }
	swap := func(s *story, i, j int) { s.steps[i], s.steps[j] = s.steps[j], s.steps[i] }
	for _, c := range []struct {
		name    string
		story   func() *story
		falsify func(*story)
		want    string
	}{
		{"S3-1_lost", strictStory, func(s *story) { drop(s, 6); s.outputs = s.outputs[:1] }, "it was lost"},
		{"S3-1_lost_in_a_tier", strictStory, func(s *story) { drop(s, 3); s.outputs = s.outputs[1:] }, "it still waits"},
		{"S3-1_effect_twice", strictStory, func(s *story) { s.outputs = append(s.outputs, at(3)) }, "its effect is there 2 times"},
		{"S3-1_tier_record_taken_twice", strictStory, func(s *story) { s.steps = append(s.steps, s.steps[5]) }, "was taken twice"},
		{"S3-1_goes_on_after_its_end", strictStory, func(s *story) { s.steps = append(s.steps, s.steps[6]) }, "went on after it was finished"},
		{"S3-1_effect_of_nothing", strictStory, func(s *story) { s.outputs = append(s.outputs, at(9)) }, "which is not in the source"},
		{"S3-1_journal_of_nothing", strictStory, func(s *story) { s.steps[6].Source = at(9) }, "the journal speaks of"},
		{"S3-1_output_without_a_step", strictStory, func(s *story) { s.outputs = append(s.outputs, at(2)) }, "the journal says dead_lettered, and the output has it"},
		{"S3-1_taken_from_another_tier", strictStory, func(s *story) { s.steps[3].Position = "t2/0/0" }, "was put into t1 and taken at t2/0/0"},
		{"S3-1_attempt_made_twice", strictStory, func(s *story) { s.steps[3].Attempt = 1 }, "attempt 2 is numbered 1"},
		{"S1-1_too_many_attempts", strictStory, func(s *story) { s.p.Attempts = 1 }, "1 are allowed"},
		{"S2-2_early", strictStory, func(s *story) { s.steps[3].Started = clock(349) }, "began 1ms before it was due"},
		{"S2-2_header_changed", strictStory, func(s *story) { s.steps[3].Due = clock(300) }, "the header said"},
		{"S2-2_header_differs_from_the_log", strictStory, func(s *story) { s.waited[0].Headers[0].Value = []byte("2026-01-02T03:04:05.351Z") }, "the worker read"},
		{"S2-2_delay_too_short", strictStory, func(s *story) { s.steps[0].Next, s.steps[3].Due = clock(299), clock(299) }, "less than 300ms later"},
		{"S2-2_no_attempt", strictStory, func(s *story) { s.steps[6].Started = time.Time{} }, "delivered without an attempt"},
		{"S0-6_strict_overtaken", strictStory, func(s *story) { swap(s, 3, 6); s.outputs = []string{at(3), at(0)} }, "which is later in the source"},
		{"S0-6_output_in_another_order", strictStory, func(s *story) { slices.Reverse(s.outputs) }, "the output has the effects of"},
		{"S2-4_duplicate_applied", strictStory, func(s *story) { s.steps[4].Decision = "delivered"; s.outputs = []string{at(0), at(1), at(3)} }, "it has to be duplicate"},
		{"S2-4_original_closed", strictStory, func(s *story) { s.steps[6].Decision = "duplicate"; s.outputs = s.outputs[:1] }, "took effect last for its key"},
		{"S3-1_healthy_record_dead", strictStory, func(s *story) { s.steps[6].Decision = "dead_lettered"; s.outputs = s.outputs[:1] }, "its handler would have finished it"},
		{"S3-1_bad_record_applied", strictStory, func(s *story) { s.steps[5].Decision = "delivered"; s.outputs = []string{at(0), at(2), at(3)} }, "must have died"},
		{"S0-6_strict_closes_as_superseded", strictStory, func(s *story) { s.steps[6].Decision = "superseded"; s.outputs = s.outputs[:1] }, "closed as superseded, with order strict"},
		{"S3-1_filtered_by_nobody", strictStory, func(s *story) { s.steps[6].Decision = "filtered"; s.outputs = s.outputs[:1] }, "which no handler here does"},
		{"S0-6_older_after_newer", latestStory, func(s *story) { s.steps[4].Decision = "delivered"; s.outputs = append(s.outputs, at(1)) }, "which is newer"},
		{"S0-6_last_word_lost", latestStory, func(s *story) { s.steps[4].Decision = "delivered"; s.outputs = append(s.outputs, at(1)) }, "what stands there in the end is that of s/0/1"},
		{"S0-6_superseded_by_nothing", latestStory, func(s *story) { swap(s, 2, 4); swap(s, 3, 4); s.steps[2].Source = at(1) }, "nothing newer had taken effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.story()
			c.falsify(s)
			faults := s.faults(t)
			expect.That(t, slices.ContainsFunc(faults, func(f Fault) bool { return strings.Contains(f.What, c.want) }), "no fault says %q: %v", c.want, faults)
		})
	}
}

func TestLateness(t *testing.T) {
	s := strictStory()
	h := must.Get(newHistory(s.p, map[string][]*kgo.Record{}))(t)
	_, n := h.Lateness(.5)
	expect.That(t, n == 0, "%d attempts where there were none", n)
	h.steps = s.steps
	late, n := h.Lateness(1)
	expect.That(t, n == 3 && late == 5*time.Millisecond, "late %v over %d attempts, want 5ms over 3", late, n)
}
