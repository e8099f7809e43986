package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// standing is the position of a group, by its commits and by the checkpoints of its memory.
type standing struct {
	source      string
	tiers       []string // configured and former ones, and further topics with commits of the group
	ids         map[string]kadm.TopicID
	commits     map[Spot]retrytopics.Commit
	generations map[int32]Generation // of every partition of the source
	stable      map[Spot]bool        // commits that were read
	foreign     bool                 // the memory belongs to another topic with the source's name
}

// standing reads the group's position. It reads the checkpoints first: a commit is never behind its checkpoint.
func (r *run) standing(ctx context.Context) (*standing, error) {
	details, err := r.admin.ListTopics(kadm.WithAuthorizedOps(ctx)) // bypasses the client's cache
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics: %w", err)
	}
	s := &standing{source: r.cfg.Source.Topic, ids: map[string]kadm.TopicID{}, commits: map[Spot]retrytopics.Commit{}, generations: map[int32]Generation{}, stable: map[Spot]bool{}}
	source, ok := details[s.source]
	if !ok || source.Err != nil {
		if _, err := kafka.Partitions(ctx, r.client, s.source); err != nil { // its error says what is wrong
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
	s.tiers = append(s.tiers, r.cfg.TierTopics()...)
	for _, f := range retrytopics.FormerTiers(r.cfg.Topics.TierPrefix, r.known(), details) {
		s.tiers = append(s.tiers, f.Topic)
	}
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

// checkpoints reads the memory. A position in a topic that was re-created since says nothing about the current one.
func (r *run) checkpoints(ctx context.Context, s *standing, details kadm.TopicDetails) error {
	spans, err := kafka.DecidedSpans(ctx, r.client, r.cfg.Topics.State)
	if errors.Is(err, kafka.ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	latest := map[int32]retrytopics.Checkpoint{}
	err = kafka.Scan(ctx, r.client, r.cfg.Topics.State, spans, func(rec *kgo.Record) error {
		cp, ok, err := retrytopics.ParseCheckpoint(rec)
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
		s.generations[p] = Generation{Now: cp.Generation, First: cp.First}
		for topic, stand := range cp.Positions {
			d, there := details[topic]
			switch {
			case !there || d.Err != nil:
			case stand.ID != [16]byte{} && kadm.TopicID(stand.ID) != d.ID:
				s.foreign = s.foreign || topic == s.source
			default:
				s.commits[Spot{topic, p}] = stand.Commit
				s.waitsIn(topic, r.known())
			}
		}
	}
	return nil
}

// waitsIn adds a topic with commits of the group to the tiers.
func (s *standing) waitsIn(topic string, known []string) {
	if !slices.Contains(known, topic) {
		s.tiers = append(s.tiers, topic)
	}
}

// drained returns the topics that the group consumes.
func (s *standing) drained() map[string]bool {
	all := map[string]bool{s.source: true}
	for _, t := range s.tiers {
		all[t] = true
	}
	return all
}

// commit returns the group's commit in a partition; offset -1 if nothing is finished.
func (s *standing) commit(spot Spot) retrytopics.Commit {
	if c, ok := s.commits[spot]; ok {
		return c
	}
	return retrytopics.Commit{Offset: -1}
}

func (s *standing) cut(cfg *config.Config) Cut {
	return Cut{
		Marks: map[Spot]Mark{}, Tiers: s.tiers, Output: cfg.Output.Topic, DLQ: cfg.Topics.DLQ, Audit: cfg.Topics.Audit,
		AtLeastOnce: cfg.Delivery != config.DeliveryExactlyOnce,
	}
}
