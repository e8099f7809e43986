//go:build !race

package session

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// stepKind is the kind of a step.
type stepKind uint8

const (
	stepTake    stepKind = iota // a record arrives from the broker
	stepAttempt                 // of a record that may run
	stepTick                    // the clock advances until the next record may run
	stepCommit
	stepReplay // an operator reinjects a dead letter

	// Faults.
	stepCrash     // another process begins with the committed state
	stepExpire    // the same, and the group's commits have expired
	stepRebalance // the partition is revoked and assigned again
	stepAbort     // a transaction is aborted; its results go into the next one
	stepRewind    // a transaction is aborted; its uncommitted records are read again
	stepOverrun   // an attempt during which the session rewinds
)

// step is a possible step in a state.
type step struct {
	kind      stepKind
	partition int
	at        int64 // offset in the partition
	fate      fate
}

// fresh reports whether another process begins with the step.
func (s step) fresh() bool { return s.kind == stepCrash || s.kind == stepExpire }

func (s step) String() string {
	what := [...]string{"take", "attempt", "tick", "commit", "replay of event", "crash", "crash and expiry", "rebalance", "abort", "rewind", "overrun attempt"}[s.kind]
	switch s.kind {
	case stepAttempt, stepOverrun:
		return fmt.Sprintf("%s: partition %d offset %d %s", what, s.partition, s.at, [...]string{"succeeds", "fails", "fails with a long wait"}[s.fate])
	case stepTake:
		return fmt.Sprintf("%s: partition %d offset %d", what, s.partition, s.at)
	case stepReplay:
		return fmt.Sprintf("%s %d", what, s.at)
	case stepTick, stepCommit, stepCrash, stepExpire, stepRebalance, stepAbort, stepRewind:
	}
	return what
}

// steps returns the possible next steps.
func (x *explorer) steps(st *state) (all []step) {
	x.enter(st)
	s, w := st.s, st.w
	for i := range w.logs {
		if at := x.next(st, i); at < int64(len(w.logs[i])) {
			all = append(all, step{kind: stepTake, partition: i, at: at})
		}
	}
	waits := s.Sched.State()
	all = append(all, x.attempts(w, waits.Source)...)
	all = append(all, x.attempts(w, waits.Retry)...)
	if len(waits.Waiting) > 0 {
		all = append(all, step{kind: stepTick})
	}
	moved := s.moved()
	if moved {
		all = append(all, step{kind: stepCommit})
	}
	for _, held := range w.holders {
		if held >= 0 && w.fates[held] == policy.OutcomeDeadLettered {
			all = append(all, step{kind: stepReplay, at: int64(held)})
		}
	}
	if w.faults == 0 {
		return all
	}
	for _, kind := range x.plan.kinds {
		switch {
		case kind == stepOverrun:
			for _, a := range all {
				if a.kind == stepAttempt {
					a.kind = stepOverrun
					all = append(all, a)
				}
			}
		case kind == stepAbort || kind == stepRewind:
			if moved {
				all = append(all, step{kind: kind})
			}
		default:
			all = append(all, step{kind: kind})
		}
	}
	return all
}

// next returns the offset of a partition that the client fetches next.
func (x *explorer) next(st *state, partition int) int64 {
	return max(st.s.partitions[x.partitionOf(partition)].NextOffset(), 0)
}

// attempts returns the attempts that a worker may begin: for each key the first record in its queue.
func (x *explorer) attempts(w *world, queued []schedule.Record) (all []step) {
	seen := map[byte]bool{}
	for _, r := range queued {
		key := rawOf(r).Key[0]
		if seen[key] {
			continue
		}
		seen[key] = true
		partition := r.Partition.Tier + 1
		for _, f := range []fate{succeeds, fails, failsLong} {
			if f == succeeds || w.failures > 0 && (f == fails || x.plan.slow) {
				all = append(all, step{kind: stepAttempt, partition: partition, at: rawOf(r).Offset, fate: f})
			}
		}
	}
	return all
}

// take takes a step. It returns nil if the step is impossible, because the attempt called no handler.
func (x *explorer) take(st *state, next step) *state {
	x.enter(st)
	if next.kind >= stepCrash {
		st.w.faults--
	}
	s, w := st.s, st.w
	switch next.kind {
	case stepTake:
		x.takeOne(st, next.partition)
	case stepAttempt:
		if !x.attempt(st, next) {
			return nil
		}
	case stepOverrun:
		x.midway = func() { x.check(s.renew()) }
		if !x.attempt(st, next) || x.midway != nil {
			x.midway = nil
			return nil
		}
	case stepTick:
		w.clock = max(w.clock, s.Sched.State().Waiting[0].Wake.Sub(dawn))
		s.Sched.Surface()
	case stepCommit:
		x.commit(st)
	case stepReplay:
		x.putBack(st, int(next.at))
	case stepExpire:
		for i := range w.commits {
			w.commits[i] = commit{offset: -1}
		}
		return x.begin(w)
	case stepCrash:
		return x.begin(w)
	case stepRebalance:
		s.forget(x.client, func(partition.ID) bool { return true })
		x.assign(st)
	case stepAbort:
		s.leave(s.stage().Tasks)
	case stepRewind:
		s.keepResults(s.stage().Tasks)
		x.check(s.renew())
	}
	return st
}

func (x *explorer) check(err error) {
	if err != nil {
		x.breaks("%w", err)
	}
}

// takeAll accepts all records of the broker, except for partitions with restored finished records that were not read
// again. The moment at which other records are accepted has no visible effect, so it does not matter.
func (x *explorer) takeAll(st *state) {
	x.enter(st)
	for i := range st.w.logs {
		l := st.s.partitions[x.partitionOf(i)]
		for l != nil && len(l.Window.Restored()) == 0 && x.next(st, i) < int64(len(st.w.logs[i])) {
			before := l.Window.Commit()
			marker := st.w.logs[i][x.next(st, i)] == nil
			x.takeOne(st, i)
			if after := l.Window.Commit(); after != before && !marker && before.Offset >= 0 {
				x.breaks("a record that is taken moves the commit from %+v to %+v", before, after)
			}
		}
	}
}

// takeOne accepts one record of a partition.
func (x *explorer) takeOne(st *state, partition int) {
	at := x.next(st, partition)
	l := st.s.partitions[x.partitionOf(partition)]
	if !l.Window.Expects(at) {
		x.breaks("partition %d does not accept offset %d, the next one", partition, at)
		return
	}
	r := kgo.Record{Topic: l.Topic, Offset: at, Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Control: true})}
	if raw := st.w.logs[partition][at]; raw != nil {
		r = *raw
		r.Headers = slices.Clone(raw.Headers)
	}
	if a, ok := st.s.accepted(l, &r, x.in.Attempts.Now()); ok {
		st.s.Sched.Add([]schedule.Record{a})
	}
}

// attempt lets a worker attempt the record of a step and finish it. It returns false if the step is impossible: no
// handler is called, or the record must not die, so the attempt cannot have this fate.
func (x *explorer) attempt(st *state, next step) bool {
	started := st.s.Sched.Start(func(r schedule.Record) bool {
		return r.Partition.Tier+1 == next.partition && rawOf(r).Offset == next.at
	})
	if started == nil {
		x.breaks("no record of the key runs, but the key is not free")
		return true
	}
	t := partition.TaskOf(started)
	if next.fate != succeeds && t.Record.Attempt == maxTries && x.plan.mortal > 0 && t.Record.Source.Offset >= int64(x.plan.mortal) {
		return false
	}
	if next.fate != succeeds {
		st.w.failures--
	}
	x.fate, x.called = next.fate, false
	held, undone := x.worker.Attempt(t.Partition.Context, &t.Task)
	if held != nil || undone {
		x.breaks("an attempt does not count")
	}
	st.s.Sched.Finish(started)
	return x.called || next.fate == succeeds
}

// rawOf returns the record of an item of the scheduler.
func rawOf(r schedule.Record) *kgo.Record {
	if r.Task != nil {
		return partition.TaskOf(r.Task).Raw
	}
	return r.Raw
}

// putBack reinjects the dead letter of an event, as a replayer does.
func (x *explorer) putBack(st *state, i int) {
	w := st.w
	r := x.history.record(int64(i))
	at := header.Position{Topic: "in", Partition: 0, Offset: r.Offset}
	r.Offset = int64(len(w.logs[0]))
	r.Headers = (&header.Control{Source: at, HasSource: true, DeadLetterID: attempt.DeadLetterID(&retrytopics.Record{Source: at, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value}), ReplayID: "r", ReplayCount: 1}).AppendTo(nil)
	w.logs[0] = append(w.logs[0], r)
	w.fates[i], w.tries[i] = "", 0
}
