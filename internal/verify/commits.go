package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const (
	unstablePause   = 10 * time.Millisecond // before a commit is read again that a transaction is about to change
	unstableTimeout = 30 * time.Second
)

// commits reads the group's commits. In a busy group some transaction is always about to change a commit, so it asks
// until each partition was seen between two of them.
func (r *run) commits(ctx context.Context, s *standing, details kadm.TopicDetails) error {
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
func (s *standing) take(r *run, committed kadm.OffsetResponses, details kadm.TopicDetails) (unstable bool, err error) {
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
func (s *standing) commitOf(spot Spot, at kadm.OffsetResponse) error {
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
