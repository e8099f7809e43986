package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// Pipeline is what was under fire.
type Pipeline struct {
	Source, Output, Journal string
	Tiers                   []Tier
	Order                   string // strict, latest_wins or none
	Attempts                int    // of one record at most
}

// Tier is a tier's topic and delay.
type Tier struct {
	Topic string
	Delay time.Duration
}

// History is all that happened to the records of a pipeline at rest.
type History struct {
	pipeline Pipeline
	source   []*input
	outputs  []*kgo.Record            // by partition and offset
	waited   map[string][]*kgo.Record // what is left in the tiers' logs, by position
	steps    []journal.Step           // by partition and offset
	inputs   map[string]*input        // by position
	faults   []Fault
}

// input is one source record and what became of it.
type input struct {
	record   *kgo.Record
	position string
	event    feed.Event
	steps    []journal.Step
	outputs  int
}

// content tells payloads apart; a tombstone is a content of its own.
func (in *input) content() string {
	if in.record.Value == nil {
		return "tombstone"
	}
	return "=" + string(in.record.Value)
}

// last is the step that finished the record, or the zero step.
func (in *input) last() journal.Step {
	if len(in.steps) == 0 {
		return journal.Step{}
	}
	return in.steps[len(in.steps)-1]
}

// Fault is a breach of a guarantee by one record.
type Fault struct {
	Source string // position of the source record, "" when there is none
	What   string
}

// Read takes the history from the topics.
func Read(ctx context.Context, c *topiclog.Cluster, p Pipeline) (*History, error) {
	logs := map[string][]*kgo.Record{}
	names := []string{p.Source, p.Output, p.Journal}
	for _, tier := range p.Tiers {
		names = append(names, tier.Topic)
	}
	for _, name := range names {
		records, err := c.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		logs[name] = records
	}
	return newHistory(p, logs)
}

func newHistory(p Pipeline, logs map[string][]*kgo.Record) (*History, error) {
	h := &History{pipeline: p, outputs: logs[p.Output], waited: map[string][]*kgo.Record{}, inputs: map[string]*input{}}
	for _, r := range logs[p.Source] {
		event, err := feed.Parse(r.Value)
		if err != nil {
			return nil, err
		}
		in := &input{record: r, position: topiclog.Position(r), event: event}
		h.source, h.inputs[in.position] = append(h.source, in), in
	}
	for _, tier := range p.Tiers {
		for _, r := range logs[tier.Topic] {
			h.waited[topiclog.Position(r)] = append(h.waited[topiclog.Position(r)], r)
		}
	}
	for _, r := range logs[p.Journal] {
		step, err := journal.Parse(r)
		if err != nil {
			return nil, err
		}
		h.steps = append(h.steps, step)
		if in := h.inputs[step.Source]; in != nil {
			in.steps = append(in.steps, step)
		} else {
			h.fault("", "the journal speaks of %q, which is not in the source: %s", step.Source, step)
		}
	}
	h.checkJourneys()
	h.checkTimes()
	h.checkOutputs()
	h.checkOutcomes()
	h.checkOrder()
	return h, nil
}

func (h *History) fault(source, format string, args ...any) {
	h.faults = append(h.faults, Fault{source, fmt.Sprintf(format, args...)})
}

// Faults are all breaches, in the order in which they were found.
func (h *History) Faults() []Fault { return slices.Clone(h.faults) }

// around is how many steps of a record's key, before and after its own, a journey
// shows.
const around = 8

// Journey tells every step of a source record, and those of the same key around
// it, which is where a fault of order has its cause.
func (h *History) Journey(source string) string {
	in := h.inputs[source]
	if in == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "steps of %s, key %q, value %s\n", source, in.record.Key, in.content())
	for _, step := range in.steps {
		fmt.Fprintf(&b, "  %s\n", step)
	}
	if in.record.Key == nil {
		return b.String()
	}
	var lines []string
	first, last := -1, -1
	for _, step := range h.steps {
		if step.Key == nil || *step.Key != string(in.record.Key) {
			continue
		}
		if step.Source == source {
			if last = len(lines); first < 0 {
				first = last
			}
		}
		lines = append(lines, fmt.Sprintf("  %s | %s\n", step.Source, step))
	}
	fmt.Fprintf(&b, "the steps of its key around them:\n")
	from, to := max(first-around, 0), min(max(last, 0)+around+1, len(lines))
	b.WriteString(strings.Join(lines[from:to], ""))
	return b.String()
}
