//go:build !race

package retrytopics

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// attempted holds the beginning of an attempt against the promises: never early, each once, and none of what is finished.
func (x *explorer) attempted(r *Record) {
	i, w := int(r.Source.Offset), x.at.w
	if now := dawn.Add(w.clock); now.Before(r.Control.Due) {
		x.breaks("event %d is attempted at %v, and is due at %v", i, now, r.Control.Due)
	}
	if w.fates[i] != "" {
		x.breaks("event %d is attempted, and is %s already", i, w.fates[i])
	}
	if r.Attempt != w.tries[i]+1 || r.Attempt > maxTries {
		x.breaks("event %d has attempt %d, and failed %d times before", i, r.Attempt, w.tries[i])
	}
}

// hold holds a state against what a session promises at any moment.
func (x *explorer) hold(st *state) {
	for i := range st.w.logs {
		l := st.s.partitions[x.partitionOf(i)]
		m := l.window.Commit()
		if m.Offset < 0 {
			continue
		}
		spans, err := offsets.DecodeFinished(m.Offset, m.Metadata)
		if ahead := l.window.Finished(); err != nil || len(ahead) != len(spans) || len(ahead) > 0 && !reflect.DeepEqual(spans, ahead) {
			x.breaks("lane %d: what is finished, %v, is read as %v (%v)", i, ahead, spans, err)
		}
		// Each run lies behind an unfinished record, and the last of the started ones began as one more.
		if most := st.s.sched.ahead - 1; int64(len(spans)) > most {
			x.breaks("lane %d: %d runs are finished beyond the position, and there is room for %d", i, len(spans), most)
		}
	}
}

// committed holds the world against the promises after a commit: every event is in one place, and what is committed is what is
// done.
func (x *explorer) committed(st *state) {
	w := st.w
	positions := make([]int, len(x.history))
	for i, fate := range w.fates {
		if fate != "" {
			positions[i]++
		}
	}
	for partition, log := range w.logs {
		c := w.commits[partition]
		spans, err := c.ahead()
		if err != nil {
			x.breaks("the commit of lane %d cannot be read: %v", partition, err)
		}
		if l := st.s.partitions[x.partitionOf(partition)]; l.committed.Offset != c.offset {
			x.breaks("lane %d takes %+v for committed, and %+v is", partition, l.committed, c)
		}
		if cp := st.s.states[0].checkpoint; cp != nil && c.offset >= 0 && cp.positions[x.partitionOf(partition).topic].at.Offset != c.offset {
			x.breaks("the checkpoint has lane %d at %+v, and %+v is committed", partition, cp.positions[x.partitionOf(partition).topic].at, c)
		}
		for offset, r := range log {
			if r != nil && !c.done(spans, int64(offset)) {
				positions[eventOf(r)]++
			}
		}
	}
	for i, n := range positions {
		if n != 1 {
			x.breaks("event %d is in %d places; fates %v, commits %+v", i, n, w.fates, w.commits)
		}
	}
	x.remembered(st)
}

// remembered holds what a session knows of its keys against what the topics have.
func (x *explorer) remembered(st *state) {
	sh, n := st.s.states[0], 0
	for k, known := range sh.base {
		r, err := encodeState("in.state", 0, k, known, x.e.cfg.scale())
		if err != nil || !bytes.Equal(r.Value, st.w.states[string(r.Key)]) {
			x.breaks("the state of key %s is known as %+v, and written as %s (%v)", k, known, st.w.states[k], err)
		}
		n++
	}
	for k := range st.w.states {
		_, version := hashOfVersion([]byte(k))
		if _, key := keyOfState([]byte(k)); key && !version {
			n--
		}
	}
	if n != 0 {
		x.breaks("the session knows %d keys more than are written", n)
	}
}

// versions holds the versions that a session has read against those that the topics have.
func (x *explorer) versions(st *state) {
	sh, n := st.s.states[0], 0
	if sh.latest == nil {
		return
	}
	for _, k := range x.keys {
		known, kept := sh.latest.of(k)
		r := encodeVersion("in.state", 0, k, &known, x.e.cfg.scale())
		written, is := st.w.states[string(r.Key)]
		if kept != is || is && !bytes.Equal(r.Value, written) {
			x.breaks("the version of key %x is known as %+v (%t), and written as %s", k, known, kept, written)
		}
		if kept {
			n++
		}
	}
	if n != sh.latest.size() {
		x.breaks("the session knows the versions of %d keys, and there are %d", sh.latest.size(), n)
	}
}

// restored holds what a session has read against the world.
func (x *explorer) restored(st *state) {
	for i, c := range st.w.commits {
		l := st.s.partitions[x.partitionOf(i)]
		if m := l.window.Commit(); m.Offset != c.offset || m.Offset >= 0 && l.commitText(m) != c.metadata {
			x.breaks("lane %d begins from %+v, and %+v is committed", i, m, c)
		}
	}
	x.remembered(st)
	x.versions(st)
}

// over says whether a history has come to its end: every event has, and nothing is left to commit.
func (x *explorer) over(st *state) bool {
	if slices.Contains(st.w.fates, "") {
		return false
	}
	for i := range st.w.logs {
		if x.next(st, i) < int64(len(st.w.logs[i])) {
			return false
		}
	}
	for _, held := range st.w.holders {
		if held >= 0 {
			return false
		}
	}
	return !st.s.moved()
}

// ended holds the end against the promises: what is finished is committed without a gap, and the newest event of each key that
// did not die is what stands there.
func (x *explorer) ended(st *state) {
	w := st.w
	for i, c := range w.commits {
		if spans, _ := c.ahead(); len(spans) > 0 || len(w.logs[i]) > 0 && c.offset != int64(len(w.logs[i])) {
			x.breaks("all is finished, and the commit of lane %d is %+v", i, c)
		}
	}
	if x.plan.order.Mode == OrderNone {
		return
	}
	for key, effects := range w.effects {
		newest := x.newest(w, key)
		if newest >= 0 && (len(effects) == 0 || !x.same(effects[len(effects)-1], newest)) {
			x.breaks("the newest event of key %d is %d, and what stands there is of %v; fates %v", key, newest, effects, w.fates)
		}
	}
	if sh := st.s.states[0]; len(sh.noted) > 0 {
		x.breaks("all is committed, and %d changes of the ledger are open", len(sh.noted))
	}
}

// newest gives the event of a key that did not die and has none that is newer. There may be none: the version 2, a tombstone,
// and the version 1 are each older than another one, and which one stands there at the end depends on what came first.
func (x *explorer) newest(w *world, key int) int {
	alive := func(i int) bool { return x.history[i].key == key && w.fates[i] != policy.OutcomeDeadLettered }
	for i := range x.history {
		older := false
		for j := range x.history {
			older = older || i != j && alive(j) && x.newer(j, i)
		}
		if alive(i) && !older {
			return i
		}
	}
	return -1
}
