//go:build !race

package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// explored is the size of the exploration of one or several histories.
type explored struct {
	states, steps, ends int
	digest              uint64 // of every state and every step between two states; the sum over histories is independent of their order
}

// add adds the exploration of other histories.
func (e *explored) add(more explored) {
	e.states, e.steps, e.ends, e.digest = e.states+more.states, e.steps+more.steps, e.ends+more.ends, e.digest+more.digest
}

// origin is the step that first reached a state.
type origin struct {
	from int32
	step step
}

// violationError is a promise that the engine violated, and the steps that led there.
type violationError struct {
	plan    string
	history history
	steps   []step
	broken  error
}

// violationMark begins the text of every violation.
const violationMark = "violation: "

func (v *violationError) Error() string {
	words := make([]string, len(v.steps))
	for i, s := range v.steps {
		words[i] = fmt.Sprintf("%3d. %s", i+1, s)
	}
	return fmt.Sprintf("%s%s, history %s: %v\n%s", violationMark, v.plan, v.history, v.broken, strings.Join(words, "\n"))
}

// search is a running exploration.
type search struct {
	x       *explorer
	seen    map[[16]byte]int32
	begun   map[[16]byte]int32 // states in which another process begins, by world and fault
	origins []origin
	edges   [][2]int32
	ends    []int32
	queue   []*state
	steps   int
	trace   hash.Hash // of the states in the order in which they are found, and of the steps between them
}

// explore takes every step from every reachable state.
func (x *explorer) explore() (explored, error) {
	s := &search{x: x, seen: map[[16]byte]int32{}, begun: map[[16]byte]int32{}, trace: sha256.New()}
	err := s.add(x.begin(newWorld(x.history, x.plan)), origin{from: -1})
	for err == nil && len(s.queue) > 0 {
		st := s.queue[0]
		s.queue[0], s.queue = nil, s.queue[1:]
		err = s.expand(st)
	}
	if stuck, some := unreached(len(s.origins), s.edges, s.ends); err == nil && some {
		x.breaks("no end is reachable from here")
		err = s.violation(s.origins[stuck])
	}
	return explored{len(s.origins), s.steps, len(s.ends), binary.BigEndian.Uint64(s.trace.Sum(nil))}, err
}

// expand takes every step from one state.
func (s *search) expand(st *state) error {
	x := s.x
	all := x.steps(st)
	if x.over(st) {
		s.ends = append(s.ends, st.id)
		if x.ended(st); x.broken != nil {
			return s.violation(s.origins[st.id])
		}
	}
	for _, next := range all {
		s.steps++
		var world [16]byte
		if next.fresh() {
			world = x.durable(st, next.kind)
			if id, known := s.begun[world]; known {
				s.edges = append(s.edges, [2]int32{st.id, id})
				continue
			}
		}
		to := x.take(x.clone(st), next)
		if to == nil {
			continue // this step is impossible: no handler was called
		}
		if err := s.add(to, origin{st.id, next}); err != nil {
			return err
		}
		if next.fresh() {
			s.begun[world] = s.edges[len(s.edges)-1][1]
		}
	}
	return nil
}

// add checks the promises in a state, and queues the state if it is new.
func (s *search) add(st *state, o origin) error {
	x := s.x
	x.takeAll(st)
	if x.broken == nil {
		x.hold(st)
	}
	if x.broken != nil {
		return s.violation(o)
	}
	sum := x.sum(st)
	id, known := s.seen[sum]
	fmt.Fprintln(s.trace, o.from, uint8(o.step.kind), o.step.partition, o.step.at, uint8(o.step.fate), known)
	s.trace.Write(sum[:])
	if !known {
		id = int32(len(s.origins))
		s.seen[sum], st.id = id, id
		s.origins, s.queue = append(s.origins, o), append(s.queue, st)
	}
	if o.from >= 0 {
		s.edges = append(s.edges, [2]int32{o.from, id})
	}
	if len(s.origins) > x.plan.most {
		x.breaks("there are more than %d states: some part of them grows without bound", x.plan.most)
		return s.violation(o)
	}
	return nil
}

// violation returns the steps that led to a violation.
func (s *search) violation(last origin) *violationError {
	v := &violationError{plan: s.x.plan.name, history: s.x.history, broken: s.x.broken}
	for o := last; o.from >= 0; o = s.origins[o.from] {
		v.steps = append(v.steps, o.step)
	}
	slices.Reverse(v.steps)
	return v
}

// unreached returns the first state from which no end can be reached.
func unreached(states int, edges [][2]int32, ends []int32) (id int32, some bool) {
	before := make([][]int32, states)
	for _, e := range edges {
		before[e[1]] = append(before[e[1]], e[0])
	}
	reached := make([]bool, states)
	for len(ends) > 0 {
		at := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		if reached[at] {
			continue
		}
		reached[at] = true
		ends = append(ends, before[at]...)
	}
	for i, ok := range reached {
		if !ok {
			return int32(i), true
		}
	}
	return 0, false
}

// sum distinguishes states.
func (x *explorer) sum(st *state) [16]byte {
	whole := sha256.Sum256(x.describe(st))
	return [16]byte(whole[:16])
}

// durable distinguishes the worlds in which a process begins after a fault.
func (x *explorer) durable(st *state, kind stepKind) [16]byte {
	whole := sha256.Sum256(append(x.describeWorld(st), byte(kind)))
	return [16]byte(whole[:16])
}

// attempted checks the beginning of an attempt: it is never early, it has the next number, and its event is not
// finished.
func (x *explorer) attempted(r *retrytopics.Record) {
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

// hold checks what a session must guarantee at any moment.
func (x *explorer) hold(st *state) {
	for i := range st.w.logs {
		l := st.s.partitions[x.partitionOf(i)]
		m := l.Window.Commit()
		if m.Offset < 0 {
			continue
		}
		spans, err := offsets.DecodeFinished(m.Offset, m.Metadata)
		if ahead := l.Window.Finished(); err != nil || len(ahead) != len(spans) || len(ahead) > 0 && !reflect.DeepEqual(spans, ahead) {
			x.breaks("partition %d: what is finished, %v, is read as %v (%v)", i, ahead, spans, err)
		}
		// Each run comes after an unfinished record, and the last started record began as one more run.
		if most := x.plan.runs() - 1; int64(len(spans)) > most {
			x.breaks("partition %d: %d runs are finished beyond the position, and there is room for %d", i, len(spans), most)
		}
	}
}

// committed checks the world after a commit: every event is in exactly one place, and the committed positions are right.
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
			x.breaks("the commit of partition %d cannot be read: %v", partition, err)
		}
		if l := st.s.partitions[x.partitionOf(partition)]; l.Committed.Offset != c.offset {
			x.breaks("partition %d treats %+v as committed, and %+v is", partition, l.Committed, c)
		}
		if cp := st.s.states[0].Checkpoint; cp != nil && c.offset >= 0 && cp.Positions[x.partitionOf(partition).Topic].Commit.Offset != c.offset {
			x.breaks("the checkpoint has partition %d at %+v, and %+v is committed", partition, cp.Positions[x.partitionOf(partition).Topic].Commit, c)
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

// remembered compares a session's memory of its keys with the topics.
func (x *explorer) remembered(st *state) {
	n := 0
	for k, known := range st.s.states[0].Memory.Orders() {
		r, err := statetopic.EncodeOrder("in.state", 0, k, known, partition.ScaleOf(&x.in.Cfg.Ordering))
		if err != nil || !bytes.Equal(r.Value, st.w.states[string(r.Key)]) {
			x.breaks("the state of key %s is %+v in the session, and %s in the topic (%v)", k, known, st.w.states[k], err)
		}
		n++
	}
	for k := range st.w.states {
		_, version := statetopic.HashOf([]byte(k))
		if _, key := statetopic.KeyOf([]byte(k)); key && !version {
			n--
		}
	}
	if n != 0 {
		x.breaks("the session has %d keys more than the topic", n)
	}
}

// versions compares the versions that a session has read with the topics.
func (x *explorer) versions(st *state) {
	m, n := st.s.states[0].Memory, 0
	if !x.in.Cfg.Ordering.RemembersVersions() {
		return
	}
	for _, k := range x.keys {
		_, _, known, kept := m.Known(k, time.Time{})
		r := statetopic.EncodeVersion("in.state", 0, k, &known, partition.ScaleOf(&x.in.Cfg.Ordering))
		written, is := st.w.states[string(r.Key)]
		if kept != is || is && !bytes.Equal(r.Value, written) {
			x.breaks("the version of key %x is %+v (%t) in the session, and %s in the topic", k, known, kept, written)
		}
		if kept {
			n++
		}
	}
	if size := m.Size(); n != size.Versions {
		x.breaks("the session has the versions of %d keys, and the topic of %d", size.Versions, n)
	}
}

// restored compares the restored state of a session with the world.
func (x *explorer) restored(st *state) {
	for i, c := range st.w.commits {
		l := st.s.partitions[x.partitionOf(i)]
		if m := l.Window.Commit(); m.Offset != c.offset || m.Offset >= 0 && l.CommitPoint(m).Metadata != c.metadata {
			x.breaks("partition %d begins from %+v, and %+v is committed", i, m, c)
		}
	}
	x.remembered(st)
	x.versions(st)
}

// over reports whether a history has ended: every event has, and nothing is left to commit.
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

// ended checks the end of a history: all finished records are committed without a gap, and the newest event of each
// key that did not die is the effective one.
func (x *explorer) ended(st *state) {
	w := st.w
	for i, c := range w.commits {
		if spans, _ := c.ahead(); len(spans) > 0 || len(w.logs[i]) > 0 && c.offset != int64(len(w.logs[i])) {
			x.breaks("all is finished, and the commit of partition %d is %+v", i, c)
		}
	}
	if x.plan.order.Mode == retrytopics.OrderNone {
		return
	}
	for key, effects := range w.effects {
		newest := x.newest(w, key)
		if newest >= 0 && (len(effects) == 0 || !x.same(effects[len(effects)-1], newest)) {
			x.breaks("the newest event of key %d is %d, and the effective one is %v; fates %v", key, newest, effects, w.fates)
		}
	}
	if open := st.s.states[0].Memory.Uncommitted(); len(open) > 0 {
		x.breaks("all is committed, and %d changes of the ledger are open", len(open))
	}
}

// newest returns the newest event of a key that did not die, or -1. There may be none: the version 2, a tombstone, and
// the version 1 are each older than another one, and their order of arrival decides which one is effective at the end.
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
