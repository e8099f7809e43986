package verify

import (
	"context"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// stable is the state of a group that is not rebalancing.
const stable = "Stable"

// members stores which partitions the running instances consume. While the group rebalances, that is unknown.
func (r *run) members(ctx context.Context, cut *Cut) error {
	g, err := kafka.DescribeGroup(ctx, r.admin, r.cfg.Source.Group)
	if err != nil {
		return err
	}
	cut.Members = len(g.Members)
	if g.State != stable || cut.Members == 0 {
		return nil
	}
	cut.Consumed = map[Spot]bool{}
	for topic, partitions := range g.AssignedPartitions() {
		for p := range partitions {
			cut.Consumed[Spot{topic, p}] = true
		}
	}
	return nil
}
