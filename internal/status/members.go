package status

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// members returns the members of the consumer group, and whether their mappings differ.
func members(ctx context.Context, cfg *config.Config, admin *kadm.Client) (all []Member, mixed bool, err error) {
	group, err := kafka.DescribeGroup(ctx, admin, cfg.Source.Group)
	if err != nil {
		return nil, false, err
	}
	all = membersOf(group, cfg.Source.Topic)
	return all, MappingComparison{Members: all}.Mixed(), nil
}

// membersOf returns the members of a group sorted by name, with the partitions of a topic that they have.
func membersOf(group kadm.DescribedGroup, topic string) []Member {
	all := []Member{}
	for _, m := range group.Members {
		all = append(all, memberOf(m, topic))
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Host, b.Host)) })
	return all
}

// memberOf describes one member. While the group rebalances, brokers do not return what members announce: it is unknown then.
func memberOf(m kadm.DescribedGroupMember, topic string) Member {
	one := Member{Name: m.ClientID, Host: strings.TrimPrefix(m.ClientHost, "/"), Partitions: []int32{}}
	if m.InstanceID != nil {
		one.Name = *m.InstanceID
	}
	if joined, ok := m.Join.AsConsumer(); ok {
		announced := ReadAnnouncement(joined.UserData)
		one.Mapping, one.Software = announced.Mapping, announced.Software
	}
	if assigned, ok := m.Assigned.AsConsumer(); ok {
		for _, t := range assigned.Topics {
			if t.Topic == topic {
				one.Partitions = append(one.Partitions, t.Partitions...)
			}
		}
	}
	slices.Sort(one.Partitions)
	return one
}
