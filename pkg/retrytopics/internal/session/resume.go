package session

import (
	"context"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// resumeFromCheckpoint compares the memory of new partitions with the topics, and lets the partitions without a
// commit continue from the checkpoint. Rebalances wait meanwhile, and nothing was accepted from these partitions.
func (s *Session) resumeFromCheckpoint(ctx context.Context, fresh map[int32]*partition.State) error {
	resumed, err := s.resume(fresh)
	if err != nil || len(resumed) == 0 {
		return err
	}
	s.seek((*partition.Partition).NextOffset)
	positions := make([]string, 0, len(resumed))
	for _, l := range resumed {
		positions = append(positions, header.Position{Topic: l.Topic, Partition: l.Partition, Offset: l.Committed.Offset}.String())
	}
	slices.Sort(positions)
	s.in.Cfg.Logger.WarnContext(ctx, "the group has no commits for these partitions; it continues from the checkpoint in the state topic",
		"group", s.in.Cfg.Group, "state", s.in.Cfg.Ordering.StateTopic, "positions", strings.Join(positions, " "))
	return s.recommit(ctx, resumed)
}

// resume replaces the partitions that have a checkpoint and no commit by ones that start from it, and returns them.
func (s *Session) resume(fresh map[int32]*partition.State) ([]*partition.Partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	binding := partition.BindingOf(s.in, s.layout)
	known := map[int32]memory.Evidence{}
	for _, l := range s.partitions {
		of := known[l.Partition]
		of.Sealed = of.Sealed || l.Sealed
		of.Committed = of.Committed || l.Tier == schedule.Source && l.Committed.Offset >= 0
		known[l.Partition] = of
	}
	for p, state := range fresh {
		if all := binding.Mismatches(state.Evidence(known[p])); len(all) > 0 {
			return nil, &partition.MismatchError{Partition: p, Mismatches: all}
		}
	}
	var resumed []*partition.Partition
	for tp, l := range s.partitions {
		state := fresh[tp.Partition]
		if state == nil || state.Checkpoint == nil {
			continue
		}
		l.Shared = l.Tier != schedule.Source && slices.Contains(state.Checkpoint.Shared, tp.Topic)
		if l.Committed.Offset >= 0 {
			continue
		}
		at, known := state.Checkpoint.Positions[tp.Topic]
		if !known || at.Commit.Offset < 0 {
			continue
		}
		if err := s.start(tp, l.Tier, at.Commit); err != nil {
			return nil, err
		}
		s.Sched.Drop([]*schedule.Partition{l.Sched})
		s.partitions[tp].Shared = l.Shared
		resumed = append(resumed, s.partitions[tp])
	}
	return resumed, nil
}

// recommit commits the positions that the group has lost.
func (s *Session) recommit(ctx context.Context, partitions []*partition.Partition) error {
	points := make([]kafka.CommitPoint, 0, len(partitions))
	for _, l := range partitions {
		points = append(points, l.CommitPoint(l.Committed))
	}
	return s.member.Recommit(ctx, s.Committer.Client(), points, func(topic string) [16]byte { return s.layout.IDs[topic] })
}

// checkpoints returns the next checkpoints of the partitions whose positions a transaction commits; none without a state
// topic. The mutex is held.
func (s *Session) checkpoints(marks map[*partition.Partition]offsets.Commit) map[*partition.State]*statetopic.Checkpoint {
	if !s.layout.States || len(marks) == 0 {
		return nil
	}
	byState := map[*partition.State]map[string]offsets.Commit{}
	for l, m := range marks {
		if byState[l.State] == nil {
			byState[l.State] = map[string]offsets.Commit{}
		}
		byState[l.State][l.Topic] = m
	}
	for _, l := range s.partitions {
		of, moves := byState[l.State]
		if _, set := of[l.Topic]; moves && !set && l.Committed.Offset >= 0 {
			of[l.Topic] = l.Committed
		}
	}
	binding := partition.BindingOf(s.in, s.layout)
	all := make(map[*partition.State]*statetopic.Checkpoint, len(byState))
	for state, of := range byState {
		all[state] = binding.Next(state.Checkpoint, of)
		partition.NoteShared(all[state], s.partitions, state)
		state.Promised = true
	}
	return all
}
