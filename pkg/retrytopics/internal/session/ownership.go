package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// onOffsets starts partitions from the offsets that the group has committed, never from the first record that a poll
// returns.
func (s *Session) onOffsets(_ context.Context, client *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebalanced = true
	fetched := map[partition.ID]*kmsg.OffsetFetchResponseGroupTopicPartition{}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			name := t.Topic
			if name == "" {
				name = s.layout.Names[t.TopicID]
			}
			for i := range t.Partitions {
				fetched[partition.ID{Topic: name, Partition: t.Partitions[i].Partition}] = &t.Partitions[i]
			}
		}
	}
	s.forget(client, func(tp partition.ID) bool { return fetched[tp] != nil }) // for all of them before any begins: they share memory
	for tp, p := range fetched {
		if err := s.assign(tp, p); err != nil {
			s.fatal = err
			return err
		}
	}
	return nil
}

// assign starts one partition. The mutex is held.
func (s *Session) assign(tp partition.ID, p *kmsg.OffsetFetchResponseGroupTopicPartition) error {
	tier, ours := s.in.TierOf(tp.Topic)
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
	s.partitions[tp].Sealed = isSealed
	return nil
}

// start replaces a partition by a new one. The mutex is held.
func (s *Session) start(tp partition.ID, tier int, committed offsets.Commit) error {
	state := s.states[tp.Partition]
	if state == nil {
		state = partition.NewState(s.in, tp.Partition)
	}
	l, err := partition.New(tp, tier, state, committed)
	if err != nil {
		return err
	}
	l.Sched = schedule.NewPartition(s.base, tier, s.sibling(l), func(r schedule.Record) *schedule.Task {
		return &partition.Fill(s.in, l.Slot(), l, r.Raw, r.Index, time.Time{}).Task.Task
	})
	s.states[tp.Partition] = state
	s.partitions[tp] = l
	return nil
}

// sibling returns the scheduler's view of another partition of the same number with the same state; nil if there is none.
// The mutex is held.
func (s *Session) sibling(of *partition.Partition) *schedule.Partition {
	for _, topic := range s.in.Consumed() {
		if l := s.partitions[partition.ID{Topic: topic, Partition: of.Partition}]; l != nil && l.State == of.State {
			return l.Sched
		}
	}
	return nil
}

// onGone drops the partitions that move to another member. All partitions of one number go together.
func (s *Session) onGone(_ context.Context, client *kgo.Client, gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebalanced = true
	s.forget(client, func(tp partition.ID) bool { return slices.Contains(gone[tp.Topic], tp.Partition) })
}

// onLost drops all partitions: the group has expelled this instance, or cannot be reached. Their records still wait,
// and are counted until the next session has its partitions.
func (s *Session) onLost(ctx context.Context, client *kgo.Client, lost map[string][]int32) {
	s.remember()
	s.mu.Lock()
	s.hasAssignment = false
	s.mu.Unlock()
	s.onGone(ctx, client, lost)
}

// errTierLost ends a session that lost a retry topic's partition and still has the source's: the memory of the partition
// may be ahead of what is committed, so the next session reads it again.
var errTierLost = errors.New("a partition of a retry topic was taken away, and the source's was not")

// forget drops the matching partitions, and the states of the numbers whose source partition was revoked. The mutex
// is held.
func (s *Session) forget(client *kgo.Client, meant func(partition.ID) bool) {
	var dropped []*partition.Partition
	resume := map[string][]int32{} // a pause would outlive the assignment
	for tp, l := range s.partitions {
		if meant(tp) {
			l.CloseLarge()
			dropped = append(dropped, l)
			resume[tp.Topic] = append(resume[tp.Topic], tp.Partition)
			delete(s.partitions, tp)
			s.dropLosses(func(l retrytopics.Loss) bool { return l.Topic == tp.Topic && l.Partition == tp.Partition })
		}
	}
	for _, l := range dropped {
		if s.states[l.Partition] != l.State {
			continue
		}
		if _, has := s.partitions[partition.ID{Topic: s.in.Cfg.Source, Partition: l.Partition}]; !has {
			delete(s.states, l.Partition)
		} else if s.fatal == nil {
			s.fatal = fmt.Errorf("%w: %s partition %d", errTierLost, l.Topic, l.Partition)
		}
	}
	s.keepResults(s.dropTasks(dropped))
	s.keepResults(slices.DeleteFunc(slices.Clone(s.aborted), func(t *partition.Task) bool { return !slices.Contains(dropped, t.From) }))
	if len(resume) > 0 {
		client.ResumeFetchPartitions(resume)
	}
}

// dropTasks removes the tasks of revoked partitions, and returns the finished ones.
func (s *Session) dropTasks(gone []*partition.Partition) []*partition.Task {
	views := make([]*schedule.Partition, 0, len(gone))
	for _, l := range gone {
		views = append(views, l.Sched)
	}
	return partition.TasksOf(s.Sched.Drop(views))
}

// reconcile drops the partitions that the client no longer owns. Of several revocations between two transactions, the
// transaction session reports only the first. Without reconcile an instance would commit for a partition, and keep its
// memory, after another member owned it. Rebalances wait while it runs.
func (s *Session) reconcile() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(s.Committer.Client(), func(tp partition.ID) bool { return !slices.Contains(s.assigned[tp.Topic], tp.Partition) })
}

// onAssignment stores what the leader of the group assigned to this instance.
func (s *Session) onAssignment(assigned map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned, s.rebalanced, s.hasAssignment = assigned, true, true
}

// afterRebalance clears the client's memory of a rebalance, which would otherwise abort the first transaction after
// it, and restores the state of new partitions. again means that the current fetches must be discarded.
func (s *Session) afterRebalance(ctx context.Context) (again bool, err error) {
	s.mu.Lock()
	rebalanced := s.rebalanced
	s.rebalanced, s.settling = false, rebalanced
	s.mu.Unlock()
	if !rebalanced {
		return false, nil
	}
	if err := s.Committer.Clear(context.WithoutCancel(ctx)); err != nil {
		return false, fmt.Errorf("clear transaction: %w", err)
	}
	s.reconcile()
	if err := s.look(ctx); err != nil {
		s.in.Cfg.Logger.WarnContext(ctx, "cannot read where the partitions start; a gap is found later", "error", err)
	}
	s.skipGaps()
	// The client has gone back to the offsets that it considers committed. Partitions that stayed continue where they
	// were.
	s.seek((*partition.Partition).NextOffset)
	if err := s.restore(ctx); err != nil {
		return true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settling = false
	return true, nil
}

// seek makes the client fetch from the given offset of each partition. It discards what the client has fetched; the
// client also forgets to report a large batch at which a partition had stopped. Therefore each call names all
// partitions, with another epoch than the last call: the client ignores an offset that it considers its own, and
// never checks one with a negative epoch.
func (s *Session) seek(at func(*partition.Partition) int64) {
	s.mu.Lock()
	s.seeks++
	epoch := -1 - s.seeks%2
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for tp, l := range s.partitions {
		if offsets[tp.Topic] == nil {
			offsets[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		offset := partition.From(at(l))
		offset.Epoch = epoch
		offsets[tp.Topic][tp.Partition] = offset
	}
	s.mu.Unlock()
	s.Committer.Client().SetOffsets(offsets)
}

// rewind discards everything since the last commit and reads it from the broker again.
func (s *Session) rewind() error {
	if err := s.renew(); err != nil {
		return err
	}
	s.seek((*partition.Partition).NextOffset)
	return nil
}

// renew replaces every partition by one that starts from the committed offset.
func (s *Session) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := slices.Collect(maps.Values(s.partitions))
	s.keepResults(s.dropTasks(old))
	for p, state := range s.states {
		s.states[p] = state.Successor()
	}
	resume := map[string][]int32{}
	for _, l := range old {
		l.CloseLarge()
		resume[l.Topic] = append(resume[l.Topic], l.Partition)
		if err := s.start(l.ID, l.Tier, l.Committed); err != nil {
			return err
		}
		s.partitions[l.ID].Succeed(l)
	}
	s.lazy, s.losses = false, nil
	s.Committer.Client().ResumeFetchPartitions(resume)
	return nil
}

// Settled reports whether the session has started every partition that the group has assigned to it, and has read the
// memory of each.
func (s *Session) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasAssignment || s.rebalanced || s.settling || s.awaitsOffsets() {
		return false
	}
	for _, state := range s.states {
		if !state.Restored {
			return false
		}
	}
	return true
}

// awaitsOffsets reports whether an assigned partition has not been started, because the client still fetches the
// committed offsets. A turn can come in between. The mutex is held.
func (s *Session) awaitsOffsets() bool {
	for topic, partitions := range s.assigned {
		if _, ours := s.in.TierOf(topic); !ours {
			continue
		}
		for _, p := range partitions {
			if s.partitions[partition.ID{Topic: topic, Partition: p}] == nil {
				return true
			}
		}
	}
	return false
}

// knowsPartitions reports whether the group has assigned partitions to this instance, and they were not lost since.
func (s *Session) knowsPartitions() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasAssignment
}
