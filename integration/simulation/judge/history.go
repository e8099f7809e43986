package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// The headers of the contract are repeated here on purpose: a wrong constant in the software must not pass its own
// check.
const (
	headerSource = "switchback-source"
	headerReplay = "switchback-replay-id"
	headerForce  = "switchback-force-version"
	headerDue    = "switchback-due"
	headerNumber = "number" // the producer's own: the number of the event in the plan
)

// history is the history of each record.
type history struct {
	Evidence
	inputs  []*input // in the order of the source log, without replays
	byPlace map[string]*input
	lost    map[string]*kgo.Record // by position: deleted before an engine read it, as an engine reported
	steps   []*step                // in the order of the journal: by partition, and in the order of the commits
	found   []Violation
}

// input is one event where it first appeared.
type input struct {
	position string
	record   *kgo.Record
	event    plan.Event
	steps    []*step
	replays  int
}

// step is a step of the journal with its event.
type step struct {
	journal.Step
	in   *input
	life int         // 0, or the number of the replay
	from *kgo.Record // the source record of this life

	memory int // number of adoptions of a re-created source before the step; each forgets the last effective events
}

func (h *history) report(p Property, source, format string, args ...any) {
	h.found = append(h.found, Violation{p, source, fmt.Sprintf(format, args...)})
}

func newHistory(e Evidence) *history {
	h := &history{Evidence: e, byPlace: map[string]*input{}, lost: map[string]*kgo.Record{}}
	h.losses()
	replays := map[string]*kgo.Record{}
	for _, r := range h.Logs[e.Topics.Source] {
		if _, n := topiclog.Header(r, headerReplay); n > 0 {
			replays[topiclog.Position(r)] = r
			continue
		}
		in := &input{position: topiclog.Position(r), record: r, event: h.event(r)}
		h.inputs = append(h.inputs, in)
		h.byPlace[in.position] = in
	}
	for _, r := range replays {
		first, _ := topiclog.Header(r, headerSource)
		if in := h.byPlace[first]; in != nil {
			in.replays++
		}
	}
	memory := map[int32]int{}
	for _, r := range h.Logs[e.Topics.Journal] {
		if adopted(r) {
			memory[r.Partition]++
			continue
		}
		h.addStep(r, replays, memory[r.Partition])
	}
	return h
}

func (h *history) event(r *kgo.Record) plan.Event {
	of := h.EventOf
	if of == nil {
		of = h.planned
	}
	e, err := of(r)
	if err != nil {
		h.report(Conservation, topiclog.Position(r), "%v", err)
	}
	return e
}

// planned returns the event of the plan that a record names.
func (h *history) planned(r *kgo.Record) (plan.Event, error) {
	text, _ := topiclog.Header(r, headerNumber)
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= h.Plan.Load.Records {
		return plan.Event{}, fmt.Errorf("it has the number %q, which no event of the plan has", text)
	}
	return h.Plan.Event(n), nil
}

func (h *history) addStep(r *kgo.Record, replays map[string]*kgo.Record, memory int) {
	parsed, err := journal.Parse(r)
	if err != nil {
		h.report(Conservation, "", "%v", err)
		return
	}
	in := h.byPlace[parsed.Source]
	if in == nil {
		h.report(Conservation, parsed.Source, "the journal has a step of it, but it is not in the source: %s", parsed)
		return
	}
	s := &step{Step: parsed, in: in, from: in.record, memory: memory}
	if n := len(in.steps); n > 0 {
		s.life, s.from = in.steps[n-1].life, in.steps[n-1].from
	}
	if replay := replays[parsed.Position]; replay != nil {
		s.life++
		s.from = replay
	}
	in.steps = append(in.steps, s)
	h.steps = append(h.steps, s)
}

// key returns the step's key, or "".
func (s *step) key() string {
	if s.Key == nil {
		return ""
	}
	return *s.Key
}

// forced reports whether an operator let the step's life overwrite newer data.
func (s *step) forced() bool {
	_, n := topiclog.Header(s.from, headerForce)
	return n > 0
}

// last returns the step that finished the record, or nil.
func (in *input) last() *step {
	if len(in.steps) == 0 {
		return nil
	}
	return in.steps[len(in.steps)-1]
}

// Journey returns all steps of a record, and the steps of the same key around it, which show the cause of a wrong order.
func Journey(e Evidence, source string) string {
	h := newHistory(e)
	in := h.byPlace[source]
	if in == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: key %q, event %+v\n", source, in.record.Key, in.event)
	for _, c := range e.Calls {
		if c.Source == source {
			fmt.Fprintf(&b, "  called at %s by %s: attempt %d, from %s\n", c.At.UTC().Format("15:04:05.000"), c.Instance, c.Attempt, c.Position)
		}
	}
	for _, s := range h.steps {
		if s.in == in || in.record.Key != nil && s.key() == string(in.record.Key) {
			e := s.in.event
			fmt.Fprintf(&b, "  %s %s | content %d version %d delete %t %s | %s\n", mark(s.in == in), s.Source, e.Content, e.Version, e.Delete, e.Fate, s.Step)
		}
	}
	return b.String()
}

func mark(own bool) string {
	if own {
		return "*"
	}
	return " "
}
