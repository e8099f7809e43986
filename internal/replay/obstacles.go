package replay

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// ObstacleKind tells obstacles apart. It is a closed list.
type ObstacleKind string

// The kinds of obstacles.
const (
	NothingRuns ObstacleKind = "not_running" // no instance of the pipeline
	Paused      ObstacleKind = "paused"      // the pipeline, by an operator or by itself
	Unknown     ObstacleKind = "unknown"     // nobody answers the question
)

// Obstacle is something that keeps the consumer from finishing what goes back.
type Obstacle struct {
	Kind ObstacleKind `json:"kind"`
	Text string       `json:"text"`
}

// Obstacles says what keeps the consumer from finishing what goes back now: nobody is running, or the pipeline is paused. None of it
// keeps a replay from being made: what went back waits. What cannot be found out is said as well. Without a pipeline nobody is waited for.
func (s *Service) Obstacles(ctx context.Context) []Obstacle {
	if s.alone {
		return nil
	}
	var found []Obstacle
	find := func(kind ObstacleKind, format string, args ...any) {
		found = append(found, Obstacle{kind, fmt.Sprintf(format, args...)})
	}
	group, err := kafka.DescribeGroup(ctx, kadm.NewClient(s.client), s.cfg.Source.Group)
	switch {
	case err != nil:
		find(Unknown, "it is not known whether an instance of %s is running: %v", s.cfg.Pipeline.ID, err)
	case len(group.Members) == 0:
		find(NothingRuns, "no instance of %s is running: what goes back waits until one is started (group %s has no members)", s.cfg.Pipeline.ID, s.cfg.Source.Group)
	}
	view, err := control.Read(ctx, s.opts, s.cfg.Topics.Control)
	switch {
	case err != nil:
		find(Unknown, "it is not known whether %s is paused: %v", s.cfg.Pipeline.ID, err)
	case view.Pipeline.IsHeld():
		find(Paused, "%s is paused, and what goes back waits until `consumer resume`: %s", s.cfg.Pipeline.ID, view.Pipeline)
	}
	return found
}
