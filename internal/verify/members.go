package verify

import (
	"context"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// stable is the state of a group of which every partition has its member.
const stable = "Stable"

// members notes which partitions the running instances consume. While partitions move, nothing is said of that.
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
