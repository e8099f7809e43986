package replay

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// ObstacleKind is the kind of an obstacle. It is a closed list.
type ObstacleKind string

// The kinds of obstacles.
const (
	NothingRuns ObstacleKind = "not_running" // no instance of the pipeline is running
	Paused      ObstacleKind = "paused"      // an operator or the pipeline itself paused the pipeline
	Unknown     ObstacleKind = "unknown"     // the cluster does not answer the question
)

// Obstacle is a reason why the consumer does not finish replayed records at present.
type Obstacle struct {
	Kind ObstacleKind `json:"kind"`
	Text string       `json:"text"`
}

// Obstacles returns the reasons why the consumer does not finish replayed records at present: no instance is running,
// or the pipeline is paused. A replay can run in spite of them; its records wait. A failed check is an obstacle of
// the kind Unknown. Without a pipeline there are no obstacles.
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
		find(NothingRuns, "no instance of %s is running: replayed records wait until one starts (group %s has no members)", s.cfg.Pipeline.ID, s.cfg.Source.Group)
	}
	view, err := control.Read(ctx, s.opts, s.cfg.Topics.Control)
	switch {
	case err != nil:
		find(Unknown, "it is not known whether %s is paused: %v", s.cfg.Pipeline.ID, err)
	case view.Pipeline.IsPaused():
		find(Paused, "%s is paused, and replayed records wait until `consumer resume`: %s", s.cfg.Pipeline.ID, view.Pipeline)
	}
	return found
}
