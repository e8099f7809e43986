package check

import (
	"github.com/switchback-geo/switchback/integration/chaos/journal"
)

// effect is what took effect last for a key.
type effect struct {
	in      *input
	content string
}

// checkOrder replays the effects on each key, in the order in which they were
// committed, against what the mode promises.
func (h *History) checkOrder() {
	applied := map[string]effect{} // by key: the last that was delivered
	newest := map[string]*input{}  // by key: the newest that counts, delivered or closed as equal to what was there
	for _, step := range h.steps {
		in := h.inputs[step.Source]
		if in == nil || step.Key == nil || !step.Finished() {
			continue
		}
		key := *step.Key
		if step.Decision == "duplicate" && applied[key].content != in.content() {
			h.fault(in.position, "it is closed as a duplicate, but %s took effect last for its key", name(applied[key].in))
		}
		switch h.pipeline.Order {
		case "strict":
			h.stepStrict(newest[key], in)
			newest[key] = in
		case "latest_wins":
			newest[key] = h.stepLatest(newest[key], in, step)
		}
		if step.Decision == "delivered" {
			applied[key] = effect{in, in.content()}
		}
	}
	switch h.pipeline.Order {
	case "strict":
		h.checkFate()
	case "latest_wins":
		h.checkLastWord(applied)
	}
}

func name(in *input) string {
	if in == nil {
		return "nothing"
	}
	return in.position
}

// stepStrict: records of a key are finished in the order of the source.
func (h *History) stepStrict(before, in *input) {
	if before != nil && in.record.Offset < before.record.Offset {
		h.fault(in.position, "it was finished after %s, which is later in the source", before.position)
	}
}

// stepLatest: an older event never takes effect after a newer one, and is closed
// as superseded only where there is a newer one. A newer one that was closed as
// equal to what was there counts too: it has had the last word.
func (h *History) stepLatest(newest, in *input, step journal.Step) *input {
	older := newest != nil && in.record.Offset < newest.record.Offset
	switch step.Decision {
	case "delivered":
		if older {
			h.fault(in.position, "it took effect after %s (%s), which is newer", newest.position, newest.last().Decision)
			return newest
		}
	case "duplicate":
		if older {
			return newest
		}
	case "superseded":
		if !older {
			h.fault(in.position, "it is closed as superseded, but nothing newer had taken effect: the newest was %s", name(newest))
		}
		return newest
	default:
		return newest
	}
	return in
}

// checkFate: under strict order there is only one way in which things can go, and
// it follows from the source alone.
func (h *History) checkFate() {
	applied := map[string]string{} // content by key
	for _, in := range h.source {
		want, key := "delivered", string(in.record.Key)
		switch {
		case in.event.Dies(h.pipeline.Attempts):
			want = "dead_lettered"
		case in.record.Key == nil:
		case applied[key] == in.content():
			want = "duplicate"
		default:
			applied[key] = in.content()
		}
		if have := in.last().Decision; have != want {
			h.fault(in.position, "it is %s; by its key's order in the source it has to be %s", have, want)
		}
	}
}

// checkLastWord: in the end each key is as its newest event that lives made it.
func (h *History) checkLastWord(applied map[string]effect) {
	word := map[string]*input{}
	for _, in := range h.source {
		if in.record.Key != nil && !in.event.Dies(h.pipeline.Attempts) {
			word[string(in.record.Key)] = in
		}
	}
	for key, in := range word {
		if have := applied[key]; have.content != in.content() {
			h.fault(in.position, "it is the newest event of key %q, but what stands there in the end is that of %s", key, name(have.in))
		}
	}
}
