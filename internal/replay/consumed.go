package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
)

// consumed is what was known when the watched group had passed all that was put back, and the grace was over.
type consumed struct {
	letters int // put back, and not dead again by then
	failed  int // letters that had died again by then
	sent    int // letters that had been put back by then
}

// prove notes that the watched group has passed all that was put back, and the grace is over.
func (r *replaying) prove() {
	if r.watch != nil {
		failed := r.outcomes.counts.FailedAgain
		r.consumed = consumed{letters: max(r.sent-failed, 0), failed: failed, sent: r.sent}
	}
}

// proved reports whether nothing was put back since the watched group had passed everything.
func (r *replaying) proved() bool { return r.watch != nil && r.consumed.sent == r.sent }

// watched is what the job's record says of the watched group. A letter that died again since the group passed it is not consumed.
func (r *replaying) watched() control.JobWatch {
	if r.watch == nil || r.outcomes == nil {
		return control.JobWatch{}
	}
	failed := r.outcomes.counts.FailedAgain
	w := control.JobWatch{Group: r.watch.group, Consumed: max(0, r.consumed.letters-(failed-r.consumed.failed)), Through: r.watch.through()}
	w.Waiting = max(0, r.sent-failed-w.Consumed)
	return w
}

// withConsumed adds to an outcome what the watched group consumed.
func (r *replaying) withConsumed(o Outcome) Outcome {
	if r.watch != nil {
		w := r.watched()
		o.Consumed, o.UnderWay = w.Consumed, w.Waiting
	}
	return o
}

// closing is the audit event of what the watched group consumed; nil when nothing was watched.
func (r *replaying) closing() *audit.Event {
	w := r.watched()
	if w.Group == "" || r.sent == 0 {
		return nil
	}
	e := r.service.begin(r.op, r.letters)
	e.Decision, e.Filter, e.Force = audit.Watched, "", ""
	e.Message = fmt.Sprintf("group %s: %d consumed, %d died again, %d waiting, through %s", w.Group, w.Consumed, r.outcomes.counts.FailedAgain, w.Waiting, w.Through)
	return e
}

// mostThrough bounds the partitions that a job and an audit event name.
const mostThrough = 100

// through names the last record in each partition that the group has to commit beyond.
func (w *watch) through() string {
	var parts []string
	at := slices.SortedFunc(maps.Keys(w.last), func(a, b partition) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id))
	})
	for _, p := range at[:min(len(at), mostThrough)] {
		parts = append(parts, fmt.Sprintf("%s/%d/%d", p.topic, p.id, w.last[p]))
	}
	if more := len(at) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more partitions", more))
	}
	return strings.Join(parts, ", ")
}
