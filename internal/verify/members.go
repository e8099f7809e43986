package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/permission"
)

// stable is the state of a group of which every partition has its member.
const stable = "Stable"

// members notes which partitions the running instances consume. While partitions move, nothing is said of that.
func (r *run) members(ctx context.Context, cut *Cut) error {
	group := r.cfg.Source.Group
	described, err := r.admin.DescribeGroups(ctx, group)
	if err == nil {
		err = described[group].Err
	}
	if errors.Is(err, kerr.GroupIDNotFound) || errors.Is(err, kerr.CoordinatorNotAvailable) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("members of group %s: %w", group, permission.Group("Describe", group, err))
	}
	g := described[group]
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
