package retrytopics

import (
	"context"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// resumeFromCheckpoint compares the memory of new partitions with the topics, and lets the partitions without a commit
// go on from the checkpoint. Rebalances wait meanwhile, and nothing was accepted from these partitions.
func (s *session) resumeFromCheckpoint(ctx context.Context, fresh map[int32]*partitionState) error {
	resumed, err := s.resume(fresh)
	if err != nil || len(resumed) == 0 {
		return err
	}
	s.seek((*partition).nextOffset)
	positions := make([]string, 0, len(resumed))
	for _, l := range resumed {
		positions = append(positions, header.Position{Topic: l.topic, Partition: l.partition, Offset: l.committed.Offset}.String())
	}
	slices.Sort(positions)
	s.in.cfg.Logger.WarnContext(ctx, "the group has no commits for these partitions; it goes on from the checkpoint in the state topic",
		"group", s.in.cfg.Group, "state", s.in.cfg.Ordering.StateTopic, "positions", strings.Join(positions, " "))
	return s.recommit(ctx, resumed)
}

// resume replaces the partitions that have a checkpoint and no commit by ones that start from it, and returns them.
func (s *session) resume(fresh map[int32]*partitionState) ([]*partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	binding := bindingOf(s.in, s.layout)
	known := map[int32]memory.Evidence{}
	for _, l := range s.partitions {
		of := known[l.partition]
		of.Sealed = of.Sealed || l.sealed
		of.Committed = of.Committed || l.tier == sourceTier && l.committed.Offset >= 0
		known[l.partition] = of
	}
	for p, state := range fresh {
		if all := binding.Mismatches(state.evidence(known[p])); len(all) > 0 {
			return nil, &memoryError{p, all}
		}
	}
	var resumed []*partition
	for tp, l := range s.partitions {
		state := fresh[tp.partition]
		if state == nil || state.checkpoint == nil {
			continue
		}
		l.shared = l.tier != sourceTier && slices.Contains(state.checkpoint.Shared, tp.topic)
		if l.committed.Offset >= 0 {
			continue
		}
		at, known := state.checkpoint.Positions[tp.topic]
		if !known || at.Commit.Offset < 0 {
			continue
		}
		if err := s.start(tp, l.tier, at.Commit); err != nil {
			return nil, err
		}
		s.sched.Drop([]*schedule.Partition{l.sched})
		s.partitions[tp].shared = l.shared
		resumed = append(resumed, s.partitions[tp])
	}
	return resumed, nil
}

// recommit commits the positions that the group has lost.
func (s *session) recommit(ctx context.Context, partitions []*partition) error {
	points := make([]kafka.CommitPoint, 0, len(partitions))
	for _, l := range partitions {
		points = append(points, l.commitPoint(l.committed))
	}
	return s.member.Recommit(ctx, s.committer.Client(), points, func(topic string) [16]byte { return s.layout.IDs[topic] })
}

// checkpoints returns the next checkpoints of the partitions whose positions a transaction commits; none without a state
// topic. The mutex is held.
func (s *session) checkpoints(marks map[*partition]offsets.Commit) map[*partitionState]*statetopic.Checkpoint {
	if !s.layout.States || len(marks) == 0 {
		return nil
	}
	byState := map[*partitionState]map[string]offsets.Commit{}
	for l, m := range marks {
		if byState[l.state] == nil {
			byState[l.state] = map[string]offsets.Commit{}
		}
		byState[l.state][l.topic] = m
	}
	for _, l := range s.partitions {
		of, moves := byState[l.state]
		if _, set := of[l.topic]; moves && !set && l.committed.Offset >= 0 {
			of[l.topic] = l.committed
		}
	}
	binding := bindingOf(s.in, s.layout)
	all := make(map[*partitionState]*statetopic.Checkpoint, len(byState))
	for state, of := range byState {
		all[state] = binding.Next(state.checkpoint, of)
		noteShared(all[state], s.partitions, state)
		state.promised = true
	}
	return all
}

// noteShared adds the retry topics of a partition in which records of another pipeline were found. A topic stays in the
// list: records before the committed position may still wait for the other pipeline.
func noteShared(cp *statetopic.Checkpoint, partitions map[topicPartition]*partition, state *partitionState) {
	for tp, l := range partitions {
		if l.state == state && l.shared && !slices.Contains(cp.Shared, tp.topic) && len(cp.Shared) < statetopic.MaxPositions {
			cp.Shared = append(slices.Clone(cp.Shared), tp.topic)
		}
	}
	slices.Sort(cp.Shared)
}
