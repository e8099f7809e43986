package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/permission"
)

// members gives who is in the consumer group. What was ordered for a pipeline says nothing about whether anybody works on it.
func members(ctx context.Context, cfg *config.Config, admin *kadm.Client) ([]Member, error) {
	groups, err := admin.DescribeGroups(ctx, cfg.Source.Group)
	group := groups[cfg.Source.Group]
	if err = cmp.Or(err, group.Err); err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) {
		return nil, fmt.Errorf("members of group %s: %w", cfg.Source.Group, permission.Group("Describe", cfg.Source.Group, err))
	}
	all := []Member{}
	for _, m := range group.Members {
		one := Member{Name: m.ClientID, Host: strings.TrimPrefix(m.ClientHost, "/"), Partitions: []int32{}}
		if m.InstanceID != nil {
			one.Name = *m.InstanceID
		}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				if t.Topic == cfg.Source.Topic {
					one.Partitions = append(one.Partitions, t.Partitions...)
				}
			}
		}
		slices.Sort(one.Partitions)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Host, b.Host)) })
	return all, nil
}
