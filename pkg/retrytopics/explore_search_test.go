//go:build !race

package retrytopics

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// explored is what was seen of a history, or of several.
type explored struct {
	states, steps, ends int
	digest              uint64 // of every state and every step between two states; the sum over histories, in any order
}

// add adds what was seen of other histories.
func (e *explored) add(more explored) {
	e.states, e.steps, e.ends, e.digest = e.states+more.states, e.steps+more.steps, e.ends+more.ends, e.digest+more.digest
}

// origin is how a state was reached first.
type origin struct {
	from int32
	step step
}

// violationError is a promise that the engine broke, and how.
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

// search is one exploration under way.
type search struct {
	x       *explorer
	seen    map[[16]byte]int32
	begun   map[[16]byte]int32 // by world and fault: what another process begins with
	origins []origin
	edges   [][2]int32
	ends    []int32
	queue   []*state
	steps   int
	trace   hash.Hash // of the states in the order in which they are found, and of the steps between them
}

// explore takes every step from every state that can be reached.
func (x *explorer) explore() (explored, error) {
	s := &search{x: x, seen: map[[16]byte]int32{}, begun: map[[16]byte]int32{}, trace: sha256.New()}
	err := s.add(x.begin(newWorld(x.history, x.plan)), origin{from: -1})
	for err == nil && len(s.queue) > 0 {
		st := s.queue[0]
		s.queue[0], s.queue = nil, s.queue[1:]
		err = s.expand(st)
	}
	if stuck, some := unreached(len(s.origins), s.edges, s.ends); err == nil && some {
		x.breaks("nothing leads from here to an end")
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
			continue // the step is none: no handler was asked
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

// add holds a state against the promises, and keeps it for later if it is new.
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
		x.breaks("there are more than %d states: something grows without bound", x.plan.most)
		return s.violation(o)
	}
	return nil
}

// violation tells the way to a broken promise.
func (s *search) violation(last origin) *violationError {
	v := &violationError{plan: s.x.plan.name, history: s.x.history, broken: s.x.broken}
	for o := last; o.from >= 0; o = s.origins[o.from] {
		v.steps = append(v.steps, o.step)
	}
	slices.Reverse(v.steps)
	return v
}

// unreached gives the first state from which no end can be reached.
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

// sum tells states apart.
func (x *explorer) sum(st *state) [16]byte {
	whole := sha256.Sum256(x.describe(st))
	return [16]byte(whole[:16])
}

// durable tells worlds apart, with the fault after which a process begins in one.
func (x *explorer) durable(st *state, kind stepKind) [16]byte {
	whole := sha256.Sum256(append(x.describeWorld(st), byte(kind)))
	return [16]byte(whole[:16])
}
