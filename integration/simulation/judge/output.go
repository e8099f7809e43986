package judge

import (
	"slices"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// places checks that every input record is in exactly one place, and that its copies have the same bytes.
func (h *history) places() {
	account := conservation.Of(conservation.Pipeline{
		Source: h.Topics.Source, Output: h.Topics.Output, DLQ: h.Topics.DLQ, Audit: h.Topics.Journal, Tiers: h.Topics.Tiers,
	}, h.Logs, h.Committed)
	for _, f := range account.Faults() {
		h.report(Conservation, f.Source, "%s", f.What)
	}
}

// outputs checks that the output has the delivered events, in the order in which they took effect.
func (h *history) outputs() {
	wrote := map[string][]string{} // by key: sources, with those of the parts of one event once
	for _, r := range h.Logs[h.Topics.Output] {
		from, _ := topiclog.Header(r, headerSource)
		if key := string(r.Key); r.Key != nil && (len(wrote[key]) == 0 || wrote[key][len(wrote[key])-1] != from) {
			wrote[key] = append(wrote[key], from)
		}
	}
	took := map[string][]string{}
	for _, s := range h.steps {
		if s.Decision == "delivered" && s.Key != nil {
			took[*s.Key] = append(took[*s.Key], s.Source)
		}
	}
	for key, want := range took {
		if have := wrote[key]; !slices.Equal(have, want) {
			h.report(Order, differ(have, want), "key %q: the output has the effects of %v, the journal of %v", key, have, want)
		}
	}
}

// differ returns the first record in which two lists differ.
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

// table checks that the table has, for each key, the last effective event according to the guard of internal/sink, or
// the row of a newer event that took no effect.
func (h *history) table() {
	want, keys, others := map[string]*step{}, map[string]*effects{}, map[string][]*step{}
	for _, s := range h.steps {
		if s.Key == nil {
			continue
		}
		if h.leavesRow(s) {
			others[*s.Key] = append(others[*s.Key], s)
		}
		f := keys[*s.Key]
		if f == nil {
			f = &effects{}
			keys[*s.Key] = f
		}
		v, _ := h.version(s, f)
		f.noteLate(s, v)
		if s.Decision == "duplicate" && !f.outdates(v) { // the guard takes its version
			f.note(s, v)
		}
		if s.Decision != "delivered" {
			continue
		}
		if f.outdates(v) { // only without an order; the table keeps the newer one
			continue
		}
		f.note(s, v)
		want[*s.Key] = s
	}
	for key, s := range want {
		row, there := h.Rows[key]
		delete(h.Rows, key)
		other := slices.ContainsFunc(others[key], func(o *step) bool {
			v, _ := h.version(o, keys[key])
			return (there && o.Source == row.Source || !there && o.in.event.Delete) && !keys[key].outdates(v)
		})
		switch {
		case other, there && h.behind(row, s), h.belowDelete(s, there), h.lostAfterItsWrite(key, row, there), h.deletedLater(s, row, there), h.forcedBefore(key, row, there):
		case s.in.event.Delete && there:
			h.report(Sink, s.Source, "it deleted key %q, but the table has the row of %s", key, row.Source)
		case !s.in.event.Delete && row.Source != s.Source:
			h.report(Sink, s.Source, "it took effect last for key %q, but the table has the row of %q", key, row.Source)
		}
	}
}

// behind reports whether a row is that of an event that follows a delete in the source, without an order. A delete
// has the greatest number that exists when it is written. If its answer was lost, it may be written again with a
// greater one, and the row stays.
func (h *history) behind(row Row, s *step) bool {
	in := h.byPlace[row.Source]
	return h.Plan.Engine.Order == retrytopics.OrderNone && s.in.event.Delete && in != nil && in.record.Offset > s.in.record.Offset
}

// lostAfterItsWrite reports whether the table has the row of a lost event: its attempt had written, its transaction was
// aborted, and the event was deleted before another attempt.
func (h *history) lostAfterItsWrite(key string, row Row, there bool) bool {
	if there {
		return h.lost[row.Source] != nil
	}
	for _, r := range h.lost {
		if string(r.Key) == key && r.Value == nil {
			return true
		}
	}
	return false
}

// deletedLater reports whether, without an order, a later delete of the source was written before an event in an
// attempt that did not count. The guard has the delete and rejects the event, although the event takes effect last in
// the topic. The table then has the event after the delete, if there is one.
func (h *history) deletedLater(s *step, row Row, there bool) bool {
	in := h.byPlace[row.Source]
	return h.Plan.Engine.Order == retrytopics.OrderNone && slices.ContainsFunc(h.inputs, func(d *input) bool {
		return d.event.Delete && string(d.record.Key) == s.key() && d.record.Offset > s.in.record.Offset &&
			(!there || in != nil && in.record.Offset > d.record.Offset)
	})
}

// forcedBefore reports whether the table has the result of a forced replay of the key. Its version depends on the
// events that took effect before it. In an attempt whose transaction was aborted, these may have been more than in
// the attempt that counts, and the guard has the version of the aborted attempt.
func (h *history) forcedBefore(key string, row Row, there bool) bool {
	return slices.ContainsFunc(h.steps, func(s *step) bool {
		return s.key() == key && s.life > 0 && s.forced() && (there && s.Source == row.Source || !there && s.in.event.Delete)
	})
}

// belowDelete reports whether, without an order, the number of an event is below that of a later delete. The delete
// takes the greatest number that took effect, also that of an event after an earlier delete, and the guard rejects
// events with smaller ones.
func (h *history) belowDelete(s *step, there bool) bool {
	if there || h.Plan.Engine.Order != retrytopics.OrderNone || !h.Plan.Engine.Versioned {
		return false
	}
	ofKey := func(in *input, offset int64) bool {
		return string(in.record.Key) == s.key() && in.record.Offset < offset
	}
	return slices.ContainsFunc(h.inputs, func(d *input) bool {
		return d.event.Delete && ofKey(d, s.in.record.Offset) && slices.ContainsFunc(h.inputs, func(in *input) bool {
			return ofKey(in, d.record.Offset) && in.event.Version > s.in.event.Version
		})
	})
}

// leavesRow reports whether an event that took no effect may have left its row in the table. A duplicate does, unless
// something newer took effect: its row is the last effective one at that time. A dead letter may, if it was written and
// the answer was lost, or if a dependency failed after the write.
func (h *history) leavesRow(s *step) bool {
	return s.Decision == "duplicate" ||
		s.Decision == "dead_lettered" && (s.in.event.Fate == plan.FateSinkFails || h.Plan.Has(plan.KindFailing))
}
