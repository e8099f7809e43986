//go:build !race

package session

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// describer writes down everything in a state that can matter later, and nothing else: two states with one
// description have the same future. Times are relative to now, offsets to the committed position.
type describer struct {
	x    *explorer
	st   *state
	now  time.Time
	text []byte
}

func (x *explorer) describe(st *state) []byte {
	d := describer{x: x, st: st, now: dawn.Add(st.w.clock), text: make([]byte, 0, 1024)}
	d.world()
	for i := range st.w.logs {
		d.partition(i)
	}
	d.tasks()
	d.memory()
	return d.text
}

// describeWorld writes down only the world.
func (x *explorer) describeWorld(st *state) []byte {
	d := describer{x: x, st: st, now: dawn.Add(st.w.clock), text: make([]byte, 0, 1024)}
	d.world()
	for i := range st.w.logs {
		d.log(i)
	}
	for k := range x.keys {
		d.state(st.s.states[0].Memory.Orders()[string([]byte{'a' + byte(k)})])
	}
	d.ledger()
	return d.text
}

func (d *describer) num(all ...int64) {
	for _, n := range all {
		d.text = binary.AppendVarint(d.text, n)
	}
}

func (d *describer) flag(b bool) {
	if b {
		d.num(1)
	} else {
		d.num(0)
	}
}

// after writes the time from now until a time, in milliseconds. Every time in the past is 0.
func (d *describer) after(t time.Time) { d.num(max(0, t.Sub(d.now).Milliseconds())) }

func (d *describer) world() {
	w := d.st.w
	d.num(int64(w.faults), int64(w.failures))
	mode := d.x.plan.order.Mode
	for i, fate := range w.fates {
		switch { // the attempts of a finished event no longer matter, and without an order neither does its outcome
		case fate == "":
			d.num(-1, int64(w.tries[i]))
		case fate == policy.OutcomeDeadLettered && mode != retrytopics.OrderNone:
			d.num(1)
		default:
			d.num(0)
		}
	}
	for key, effects := range w.effects {
		if mode == retrytopics.OrderNone {
			break
		}
		newest := int64(-1)
		last := int64(-1)
		for _, i := range effects {
			last = int64(i)
			if newest < 0 || d.x.newer(i, int(newest)) {
				newest = last
			}
		}
		d.num(last, newest, int64(w.holders[key]))
	}
}

// log writes down a partition as the brokers store it.
func (d *describer) log(i int) {
	w := d.st.w
	c := w.commits[i]
	base := max(c.offset, 0)
	d.num(min(c.offset, 0), int64(len(w.logs[i]))-base)
	spans, _ := c.ahead()
	d.spans(spans, base)
	for at := base; at < int64(len(w.logs[i])); at++ {
		r := w.logs[i][at]
		if r == nil {
			d.num(-1)
			continue
		}
		d.num(int64(eventOf(r)))
		if control, err := header.ParseControl(r.Headers); err == nil {
			d.num(int64(control.Attempt), control.Sequence)
			d.after(control.Due)
		}
	}
}

func (d *describer) partition(i int) {
	d.log(i)
	l, base := d.st.s.partitions[d.x.partitionOf(i)], max(d.st.w.commits[i].offset, 0)
	win := l.Window
	d.num(win.Next()-base, win.End()-base)
	for span, done := range win.Taken() {
		d.num(span.First-base, span.Last-base)
		d.flag(done)
	}
	d.spans(win.Restored(), base)
	g := l.Sched.Gate()
	if d.x.plan.room == 0 {
		return // the gate never closes
	}
	d.num(g.Started-g.Finished, l.Fetched-g.Finished, g.Restored, int64(len(g.Blocked)))
	for _, r := range g.Blocked {
		d.num(rawOf(r).Offset-base, r.Index-g.Finished, r.Restored)
	}
}

func (d *describer) spans(spans []offsets.Span, base int64) {
	d.num(int64(len(spans)))
	for _, s := range spans {
		d.num(s.First-base, s.Last-base)
	}
}

// tasks writes down the waiting and the finished tasks. The order of records counts within a key. In a mixed plan,
// the order in which one transaction writes records of several keys to a tier counts as well; in other plans one
// order stands for all.
func (d *describer) tasks() {
	s := d.st.s.Sched.State()
	for _, items := range [][]schedule.Record{s.Source, s.Retry} {
		slices.SortStableFunc(items, func(a, b schedule.Record) int { return cmp.Compare(rawOf(a).Key[0], rawOf(b).Key[0]) })
		d.num(int64(len(items)))
		for _, r := range items {
			var t *partition.Task
			if r.Task != nil {
				t = partition.TaskOf(r.Task)
			}
			d.pending(t, r.Partition.Tier, rawOf(r).Offset)
		}
	}
	waiting := partition.TasksOf(s.Waiting)
	slices.SortFunc(waiting, func(a, b *partition.Task) int {
		return cmp.Or(a.Wake.Compare(b.Wake), cmp.Compare(a.From.Tier, b.From.Tier), cmp.Compare(a.Offset, b.Offset))
	})
	d.num(int64(len(waiting)))
	for _, t := range waiting {
		d.pending(t, t.From.Tier, t.Offset)
		if d.x.plan.room > 0 {
			d.num(t.Index - t.Partition.Gate().Finished)
		}
		d.after(t.Wake)
	}
	for _, list := range [][]*partition.Task{d.st.s.aborted, partition.TasksOf(s.Ready)} {
		d.num(int64(len(list)))
		for _, t := range list {
			if d.x.plan.mixed && !t.Event.Decision.Outcome.Finished() {
				d.ended(t)
			}
		}
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b *partition.Task) int { return cmp.Compare(a.Raw.Key[0], b.Raw.Key[0]) })
		for _, t := range list {
			d.ended(t)
		}
	}
	answers := d.st.results.Kept()
	kept := slices.SortedFunc(maps.Keys(answers), func(a, b header.Position) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Offset, b.Offset))
	})
	for _, at := range kept {
		for i, c := range d.st.w.commits {
			if d.x.partitionOf(i).Topic == at.Topic {
				d.num(int64(i), at.Offset-c.offset)
			}
		}
		d.flag(answers[at].Err == nil)
	}
}

func (d *describer) pending(t *partition.Task, tier int, offset int64) {
	d.num(int64(tier), offset-max(d.st.w.commits[tier+1].offset, 0))
	d.flag(t != nil && t.Answer != nil && t.Answer.Err == nil)
	d.flag(t != nil && t.Answer != nil && t.Answer.Err != nil)
}

func (d *describer) ended(t *partition.Task) {
	dec := t.Event.Decision
	outcome := slices.Index(policy.Outcomes(), dec.Outcome)
	if d.x.plan.order.Mode == retrytopics.OrderNone && dec.Outcome.Finished() {
		outcome = 0
	}
	d.num(int64(t.From.Tier), t.Offset-max(d.st.w.commits[t.From.Tier+1].offset, 0), int64(outcome), int64(dec.Tier), t.Record.Control.Sequence)
	d.after(dec.Due)
	d.flag(t.Handled)
	d.change(&t.Change)
}

func (d *describer) change(change *memory.Change) {
	c := change.Describe()
	d.flag(c.Ledged)
	d.flag(c.Known)
	d.flag(c.Lasting)
	d.num(c.Applied.Version, c.Applied.Offset, c.Before.Version, c.Before.Offset)
	d.text = append(append(d.text, c.Applied.Content[:]...), c.Before.Content[:]...)
	d.flag(c.Versioned)
	d.newest(c.Latest, true)
	d.newest(c.Older, c.Kept)
	if d.flag(c.Order != nil); c.Order != nil {
		d.state(*c.Order)
	}
}

func (d *describer) state(st keyorder.State) {
	d.num(st.Next, st.Last, int64(st.Tier), st.Waiting, st.DeadLetters, st.Deleted, int64(len(st.Held)))
	d.after(st.Due)
	if d.flag(st.Applied != nil); st.Applied != nil {
		d.num(st.Applied.Number, st.Applied.Offset)
	}
}

func (d *describer) newest(n statetopic.Latest, kept bool) {
	if d.flag(kept); kept {
		d.num(n.Version.Number, n.Version.Offset, n.Deleted)
	}
}

func (d *describer) memory() {
	m, cfg := d.st.s.states[0].Memory, &d.x.in.Cfg
	for k := range d.x.keys {
		key := string([]byte{'a' + byte(k)})
		d.state(m.Past([]byte(key), d.x.keys[k], d.now).Order)
		d.state(m.Orders()[key])
		last, known, latest, kept := m.Known(d.x.keys[k], d.now)
		if cfg.Dedupe.On() {
			d.flag(known)
			d.num(last.Version, last.Offset)
			d.text = append(d.text, last.Content[:]...)
		}
		if cfg.Ordering.RemembersVersions() {
			d.newest(latest, kept)
		}
	}
	for _, c := range m.Uncommitted() {
		d.num(int64(slices.Index(d.x.keys, c.Hash)))
		d.change(c)
	}
	d.ledger()
}

// ledger writes down the content of the ledger's topic, and the versions in the state topic.
func (d *describer) ledger() {
	if d.x.in.Cfg.Ordering.RemembersVersions() {
		for _, k := range d.x.keys {
			r := statetopic.EncodeVersion("", 0, k, nil, "")
			d.text = append(append(d.text, d.st.w.states[string(r.Key)]...), 0)
		}
	}
	for _, a := range d.st.w.applied {
		d.num(a.Version, a.Offset)
		d.text = append(d.text, a.Content[:]...)
	}
}
