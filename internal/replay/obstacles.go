package replay

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Obstacles says what keeps the consumer from finishing what goes back now: nobody is running, or the pipeline is paused. None of it
// keeps a replay from being made: what went back waits. What cannot be found out is said as well. Without a pipeline nobody is waited for.
func (s *Service) Obstacles(ctx context.Context) []string {
	if s.alone {
		return nil
	}
	var found []string
	group, err := kafka.DescribeGroup(ctx, kadm.NewClient(s.client), s.cfg.Source.Group)
	switch {
	case err != nil:
		found = append(found, fmt.Sprintf("it is not known whether an instance of %s is running: %v", s.cfg.Pipeline.ID, err))
	case len(group.Members) == 0:
		found = append(found, fmt.Sprintf("no instance of %s is running: what goes back waits until one is started (group %s has no members)", s.cfg.Pipeline.ID, s.cfg.Source.Group))
	}
	view, err := control.Read(ctx, s.opts, s.cfg.Topics.Control)
	switch {
	case err != nil:
		found = append(found, fmt.Sprintf("it is not known whether %s is paused: %v", s.cfg.Pipeline.ID, err))
	case view.Pipeline.IsHeld():
		found = append(found, fmt.Sprintf("%s is paused, and what goes back waits until `consumer resume`: %s", s.cfg.Pipeline.ID, view.Pipeline))
	}
	return found
}
