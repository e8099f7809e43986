package status

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/fleet"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// members gives who is in the consumer group. What was ordered for a pipeline says nothing about whether anybody works on it.
func members(ctx context.Context, cfg *config.Config, admin *kadm.Client) (all []Member, mixed bool, err error) {
	group, err := kafka.DescribeGroup(ctx, admin, cfg.Source.Group)
	if err != nil {
		return nil, false, err
	}
	all = []Member{}
	for _, m := range group.Members {
		i := fleet.Of(m)
		one := Member{Name: i.Name, Host: i.Host, Partitions: []int32{}, Mapping: i.Mapping, Software: i.Software}
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
	return all, fleet.Compare("", group).Mixed(), nil
}
