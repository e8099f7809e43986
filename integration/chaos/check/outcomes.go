package check

import (
	"bytes"
	"slices"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// headerSource is written out a second time on purpose, as headerDue is.
const headerSource = "switchback-source"

// checkOutputs: each effect is there exactly once, in the bytes that the handler
// made, and the output has them in the order in which they took effect.
func (h *History) checkOutputs() {
	wrote := map[string][]string{} // by key, in the order of the output
	for _, r := range h.outputs {
		from, _ := topiclog.Header(r, headerSource)
		in := h.inputs[from]
		if in == nil {
			h.fault("", "output %s comes from %q, which is not in the source", topiclog.Position(r), from)
			continue
		}
		if in.outputs++; in.outputs > 1 {
			h.fault(from, "its effect is there %d times", in.outputs)
		}
		if !bytes.Equal(r.Key, in.record.Key) || !bytes.Equal(r.Value, in.record.Value) || (r.Value == nil) != (in.record.Value == nil) {
			h.fault(from, "the output is not what its handler made:\n%s", topiclog.Describe(r))
		}
		if r.Key != nil {
			wrote[string(r.Key)] = append(wrote[string(r.Key)], from)
		}
	}
	took := map[string][]string{} // by key, in the order of the journal
	for _, step := range h.steps {
		if step.Decision == "delivered" && step.Key != nil {
			took[*step.Key] = append(took[*step.Key], step.Source)
		}
	}
	for key, want := range took {
		if have := wrote[key]; !slices.Equal(have, want) {
			h.fault(differ(have, want), "key %q: the output has the effects of %v, the journal of %v", key, have, want)
		}
	}
	for _, in := range h.source {
		if last := in.last(); (last.Decision == "delivered") != (in.outputs > 0) {
			h.fault(in.position, "the journal says %s, and the output has it %d times", last.Decision, in.outputs)
		}
	}
}

// differ is the first record in which two lists differ.
func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			return a[i]
		case i >= len(a) || a[i] != b[i]:
			return b[i]
		}
	}
	return ""
}

// checkOutcomes: what must die dies and nothing else does, and no mode closes what
// it does not speak of.
func (h *History) checkOutcomes() {
	for _, in := range h.source {
		last := in.last().Decision
		switch last {
		case "", "retried", "parked", "delivered": // the first three are faults already
		case "dead_lettered":
			if !in.event.Dies(h.pipeline.Attempts) {
				h.fault(in.position, "it is in the DLQ and its handler would have finished it (%+v)", in.event)
			}
			continue
		case "duplicate":
			if in.record.Key == nil {
				h.fault(in.position, "it has no key and is closed as a duplicate")
			}
		case "superseded":
			if h.pipeline.Order != "latest_wins" || in.record.Key == nil {
				h.fault(in.position, "it is closed as superseded, with order %s and key %q", h.pipeline.Order, in.record.Key)
			}
			if !in.event.Permanent {
				continue // overtaken while it waited, also one that would have failed for ever
			}
		default:
			h.fault(in.position, "it is closed as %s, which no handler here does", last)
		}
		if in.event.Dies(h.pipeline.Attempts) {
			h.fault(in.position, "it is %s and must have died (%+v)", last, in.event)
		}
	}
}
