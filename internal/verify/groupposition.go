package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// groupPosition is the position of a group, by its commits and by the checkpoints of its memory.
type groupPosition struct {
	source      string
	tiers       []string // configured and former tiers, and further topics with commits of the group
	ids         map[string]kadm.TopicID
	commits     map[Spot]retrytopics.Commit
	generations map[int32]Generation // of every partition of the source
	stable      map[Spot]bool        // commits that were read
	foreign     bool                 // the memory belongs to another topic with the source's name
}

// readPosition reads the group's position. It reads the checkpoints first: a commit is never behind its checkpoint.
func (r *run) readPosition(ctx context.Context) (*groupPosition, error) {
	details, err := r.admin.ListTopics(kadm.WithAuthorizedOps(ctx)) // bypasses the client's cache
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics: %w", err)
	}
	s := &groupPosition{source: r.cfg.Source.Topic, ids: map[string]kadm.TopicID{}, commits: map[Spot]retrytopics.Commit{}, generations: map[int32]Generation{}, stable: map[Spot]bool{}}
	source, ok := details[s.source]
	if !ok || source.Err != nil {
		if _, err := kafka.Partitions(ctx, r.client, s.source); err != nil { // its error describes the problem
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", kafka.ErrNoTopic, s.source)
	}
	for p := range source.Partitions {
		s.generations[p] = Generation{}
	}
	if err := r.checkpoints(ctx, s, details); err != nil {
		return nil, err
	}
	if err := r.commits(ctx, s, details); err != nil {
		return nil, err
	}
	s.tiers = slices.Concat(s.tiers, r.cfg.TierTopics(), retrytopics.FormerTiers(r.cfg.Topics.TierPrefix, r.known(), details))
	slices.Sort(s.tiers)
	s.tiers = slices.Compact(s.tiers)
	for _, topic := range append([]string{s.source, r.cfg.Output.Topic, r.cfg.Topics.DLQ, r.cfg.Topics.Audit}, s.tiers...) {
		if d, ok := details[topic]; ok {
			s.ids[topic] = d.ID
		}
	}
	return s, nil
}

// known returns the topics of the pipeline that are not former tiers.
func (r *run) known() (names []string) {
	for _, t := range topics.Plan(r.cfg) {
		names = append(names, t.Name)
	}
	return append(names, r.cfg.Topics.Governance)
}

// checkpoints reads the memory. A position in a topic that was re-created since then is meaningless for the current
// topic.
func (r *run) checkpoints(ctx context.Context, s *groupPosition, details kadm.TopicDetails) error {
	spans, err := kafka.DecidedSpans(ctx, r.client, r.cfg.Topics.State)
	if errors.Is(err, kafka.ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	latest := map[int32]*statetopic.Checkpoint{}
	err = kafka.Scan(ctx, r.client, r.cfg.Topics.State, spans, func(rec *kgo.Record) error {
		cp, ok, err := statetopic.ParseCheckpoint(rec)
		if err != nil {
			return fmt.Errorf("%s: %w", positionOf(rec).String(), err)
		}
		if ok {
			latest[rec.Partition] = cp
		}
		return nil
	})
	if err != nil {
		return err
	}
	for p, cp := range latest {
		if _, ok := s.generations[p]; !ok {
			continue
		}
		s.generations[p] = Generation{Now: cp.Generation, First: cp.First()}
		for topic, position := range cp.Positions {
			d, there := details[topic]
			switch {
			case !there || d.Err != nil:
			case position.ID.Differs(statetopic.TopicID(d.ID)):
				s.foreign = s.foreign || topic == s.source
			default:
				if s.commits[Spot{topic, p}], err = retrytopics.ParseCommit(position.Commit.Offset, position.Commit.Metadata); err != nil {
					return fmt.Errorf("checkpoint of partition %d of %s: %w", p, r.cfg.Topics.State, err)
				}
				s.waitsIn(topic, r.known())
			}
		}
	}
	return nil
}

// waitsIn adds a topic with commits of the group to the tiers.
func (s *groupPosition) waitsIn(topic string, known []string) {
	if !slices.Contains(known, topic) {
		s.tiers = append(s.tiers, topic)
	}
}

// drained returns the topics that the group consumes.
func (s *groupPosition) drained() map[string]bool {
	all := map[string]bool{s.source: true}
	for _, t := range s.tiers {
		all[t] = true
	}
	return all
}

// commit returns the group's commit in a partition; offset -1 if nothing is finished.
func (s *groupPosition) commit(spot Spot) retrytopics.Commit {
	if c, ok := s.commits[spot]; ok {
		return c
	}
	return retrytopics.Commit{Offset: -1}
}

func (s *groupPosition) cut(cfg *config.Config) Cut {
	return Cut{
		Marks: map[Spot]Mark{}, Tiers: s.tiers, Output: cfg.Output.Topic, DLQ: cfg.Topics.DLQ, Audit: cfg.Topics.Audit,
		AtLeastOnce: cfg.Delivery != config.DeliveryExactlyOnce,
	}
}

const (
	unstablePause   = 10 * time.Millisecond // before a commit is read again that a transaction is about to change
	unstableTimeout = 30 * time.Second
)

// commits reads the group's commits. In a busy group some transaction is always about to change a commit, so it
// repeats the request until it has seen each partition between two transactions.
func (r *run) commits(ctx context.Context, s *groupPosition, details kadm.TopicDetails) error {
	for began := time.Now(); ; {
		committed, err := r.fetch(ctx)
		unstable := errors.Is(err, kerr.UnstableOffsetCommit)
		if err == nil {
			unstable, err = s.take(r, committed, details)
		}
		switch {
		case unstable && time.Since(began) <= unstableTimeout:
		case unstable:
			return fmt.Errorf("committed offsets of group %s: a transaction stays open: wait until its writer ends it, or end it with kafka-transactions.sh: %w",
				r.cfg.Source.Group, kerr.UnstableOffsetCommit)
		case err != nil:
			return err
		default:
			return nil
		}
		if err := kafka.Pause(ctx, unstablePause); err != nil {
			return fmt.Errorf("committed offsets of group %s: %w", r.cfg.Source.Group, err)
		}
	}
}

// fetch returns the group's commits; none if the group has never committed.
func (r *run) fetch(ctx context.Context) (kadm.OffsetResponses, error) {
	group := r.cfg.Source.Group
	committed, err := r.admin.FetchOffsets(kadm.RequireStable(ctx), group)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound), errors.Is(err, kerr.CoordinatorNotAvailable):
		return kadm.OffsetResponses{}, nil
	case err != nil:
		return nil, fmt.Errorf("committed offsets of group %s: %w", group, kafka.DeniedGroup("Describe", group, err))
	}
	return committed, nil
}

// take stores the stable commits, and reports whether one has never been stable.
func (s *groupPosition) take(r *run, committed kadm.OffsetResponses, details kadm.TopicDetails) (unstable bool, err error) {
	for topic, partitions := range committed {
		if d, there := details[topic]; !there || d.Err != nil {
			continue
		}
		s.waitsIn(topic, r.known())
		for p, at := range partitions {
			spot := Spot{topic, p}
			switch {
			case s.stable[spot]:
			case errors.Is(at.Err, kerr.UnstableOffsetCommit):
				unstable = true
			case at.Err != nil:
				return false, fmt.Errorf("committed offset of group %s on %s/%d: %w", r.cfg.Source.Group, topic, p, kafka.DeniedGroup("Describe", r.cfg.Source.Group, at.Err))
			case at.At >= 0:
				s.stable[spot] = true
				if err := s.commitOf(spot, at); err != nil {
					return false, fmt.Errorf("commit of group %s on %s/%d: %w", r.cfg.Source.Group, topic, p, err)
				}
			}
		}
	}
	return unstable, nil
}

// commitOf stores one commit. It takes precedence over a checkpoint.
func (s *groupPosition) commitOf(spot Spot, at kadm.OffsetResponse) error {
	c, err := retrytopics.ParseCommit(at.At, at.Metadata)
	if err != nil {
		return err
	}
	s.commits[spot] = c
	if g, ok := s.generations[spot.Partition]; ok && spot.Topic == s.source && c.Generation > g.Now {
		s.generations[spot.Partition] = Generation{Now: c.Generation, First: c.First}
	}
	return nil
}
