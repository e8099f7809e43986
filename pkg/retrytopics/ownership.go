package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// onOffsets starts partitions from the offsets that the group has committed, never from the first record that a poll
// returns.
func (s *session) onOffsets(_ context.Context, client *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebalanced = true
	fetched := map[topicPartition]*kmsg.OffsetFetchResponseGroupTopicPartition{}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			name := t.Topic
			if name == "" {
				name = s.layout.Names[t.TopicID]
			}
			for i := range t.Partitions {
				fetched[topicPartition{name, t.Partitions[i].Partition}] = &t.Partitions[i]
			}
		}
	}
	s.forget(client, func(tp topicPartition) bool { return fetched[tp] != nil }) // of all before any begins: they share memory
	for tp, p := range fetched {
		if err := s.assign(tp, p); err != nil {
			s.fatal = err
			return err
		}
	}
	return nil
}

// assign starts one partition. The mutex is held.
func (s *session) assign(tp topicPartition, p *kmsg.OffsetFetchResponseGroupTopicPartition) error {
	tier, ours := s.in.tierOf(tp.topic)
	if !ours || p.ErrorCode != 0 {
		return nil
	}
	committed, isSealed := offsets.Commit{Offset: -1}, false
	if p.Offset >= 0 {
		committed.Offset = p.Offset
		if p.Metadata != nil {
			committed.Metadata, _, isSealed = offsets.Unseal(*p.Metadata)
		}
	}
	if err := s.start(tp, tier, committed); err != nil {
		return err
	}
	s.partitions[tp].sealed = isSealed
	return nil
}

// start replaces a partition by a new one. The mutex is held.
func (s *session) start(tp topicPartition, tier int, committed offsets.Commit) error {
	state := s.states[tp.partition]
	if state == nil {
		state = newState(s.in, tp.partition)
	}
	l, err := newPartition(tp, tier, state, committed)
	if err != nil {
		return err
	}
	l.sched = schedule.NewPartition(s.base, tier, s.sibling(l), func(r schedule.Record) *schedule.Task {
		return &fill(s.in, l.slot(), l, r.Raw, r.Index, time.Time{}).Task
	})
	s.states[tp.partition] = state
	s.partitions[tp] = l
	return nil
}

// sibling returns the scheduler's view of another partition of the same number with the same state; nil if there is none.
// The mutex is held.
func (s *session) sibling(of *partition) *schedule.Partition {
	for _, topic := range s.in.consumed() {
		if l := s.partitions[topicPartition{topic, of.partition}]; l != nil && l.state == of.state {
			return l.sched
		}
	}
	return nil
}

// onGone drops the partitions that move to another member. All partitions of one number go together.
func (s *session) onGone(_ context.Context, client *kgo.Client, gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebalanced = true
	s.forget(client, func(tp topicPartition) bool { return slices.Contains(gone[tp.topic], tp.partition) })
}

// onLost drops all partitions: the group has expelled this instance, or cannot be reached. Their records still wait, and
// are counted until the next session knows its partitions.
func (s *session) onLost(ctx context.Context, client *kgo.Client, lost map[string][]int32) {
	s.remember()
	s.mu.Lock()
	s.told = false
	s.mu.Unlock()
	s.onGone(ctx, client, lost)
}

// errTierLost ends a session that lost a retry topic's partition and still has the source's: the memory of the partition
// may be ahead of what is committed, so the next session reads it again.
var errTierLost = errors.New("a partition of a retry topic was taken away, and the source's was not")

// forget drops the matching partitions, and the states of the numbers whose source partition is gone. The mutex is held.
func (s *session) forget(client *kgo.Client, meant func(topicPartition) bool) {
	var dropped []*partition
	resume := map[string][]int32{} // a pause would outlive the assignment
	for tp, l := range s.partitions {
		if meant(tp) {
			l.closeLarge()
			dropped = append(dropped, l)
			resume[tp.topic] = append(resume[tp.topic], tp.partition)
			delete(s.partitions, tp)
			s.dropLosses(func(l Loss) bool { return l.Topic == tp.topic && l.Partition == tp.partition })
		}
	}
	for _, l := range dropped {
		if s.states[l.partition] != l.state {
			continue
		}
		if _, has := s.partitions[topicPartition{s.in.cfg.Source, l.partition}]; !has {
			delete(s.states, l.partition)
		} else if s.fatal == nil {
			s.fatal = fmt.Errorf("%w: %s partition %d", errTierLost, l.topic, l.partition)
		}
	}
	s.keepResults(s.dropTasks(dropped))
	s.keepResults(slices.DeleteFunc(slices.Clone(s.aborted), func(t *heldTask) bool { return !slices.Contains(dropped, t.from) }))
	if len(resume) > 0 {
		client.ResumeFetchPartitions(resume)
	}
}

// dropTasks removes the tasks of partitions that are gone, and returns the finished ones.
func (s *session) dropTasks(gone []*partition) []*heldTask {
	views := make([]*schedule.Partition, 0, len(gone))
	for _, l := range gone {
		views = append(views, l.sched)
	}
	return tasksOf(s.sched.Drop(views))
}

// reconcile drops the partitions that the client no longer owns. Of several revocations between two transactions, the
// transaction session reports only the first. Without reconcile an instance would commit for a partition, and keep its
// memory, after another member owned it. Rebalances wait while it runs.
func (s *session) reconcile() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(s.committer.Client(), func(tp topicPartition) bool { return !slices.Contains(s.assigned[tp.topic], tp.partition) })
}

// onAssignment stores what the leader of the group assigned to this instance.
func (s *session) onAssignment(assigned map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned, s.rebalanced, s.told = assigned, true, true
}

// afterRebalance clears the client's memory of a rebalance, which would otherwise abort the first transaction after it,
// and restores the state of new partitions. again means that the fetches at hand are void.
func (s *session) afterRebalance(ctx context.Context) (again bool, err error) {
	s.mu.Lock()
	rebalanced := s.rebalanced
	s.rebalanced, s.settling = false, rebalanced
	s.mu.Unlock()
	if !rebalanced {
		return false, nil
	}
	if err := s.committer.Clear(context.WithoutCancel(ctx)); err != nil {
		return false, fmt.Errorf("clear transaction: %w", err)
	}
	s.reconcile()
	if err := s.look(ctx); err != nil {
		s.in.cfg.Logger.WarnContext(ctx, "cannot read where the partitions start; a gap is found later", "error", err)
	}
	s.skipGaps()
	// The client has gone back to what it takes for committed. Partitions that stayed go on where they were.
	s.seek((*partition).nextOffset)
	if err := s.restore(ctx); err != nil {
		return true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settling = false
	return true, nil
}

// seek makes the client fetch on from the given offset of each partition. It discards what the client has fetched; the
// client also forgets to report a large batch at which a partition had stopped. Therefore each call names all
// partitions, with another epoch than the last call: the client ignores an offset that it takes for its own, and never
// checks one with a negative epoch.
func (s *session) seek(at func(*partition) int64) {
	s.mu.Lock()
	s.seeks++
	epoch := -1 - s.seeks%2
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for tp, l := range s.partitions {
		if offsets[tp.topic] == nil {
			offsets[tp.topic] = map[int32]kgo.EpochOffset{}
		}
		offset := from(at(l))
		offset.Epoch = epoch
		offsets[tp.topic][tp.partition] = offset
	}
	s.mu.Unlock()
	s.committer.Client().SetOffsets(offsets)
}

// rewind discards everything since the last commit and reads it from the broker again.
func (s *session) rewind() error {
	if err := s.renew(); err != nil {
		return err
	}
	s.seek((*partition).nextOffset)
	return nil
}

// renew replaces every partition by one that starts from what is committed.
func (s *session) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := slices.Collect(maps.Values(s.partitions))
	s.keepResults(s.dropTasks(old))
	for p, state := range s.states {
		s.states[p] = state.successor()
	}
	resume := map[string][]int32{}
	for _, l := range old {
		l.closeLarge()
		resume[l.topic] = append(resume[l.topic], l.partition)
		if err := s.start(l.topicPartition, l.tier, l.committed); err != nil {
			return err
		}
		s.partitions[l.topicPartition].succeed(l)
	}
	s.lazy, s.losses = false, nil
	s.committer.Client().ResumeFetchPartitions(resume)
	return nil
}

// settled reports whether the session knows its partitions and has read the memory of each.
func (s *session) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told || s.rebalanced || s.settling {
		return false
	}
	for _, state := range s.states {
		if !state.restored {
			return false
		}
	}
	return true
}
