package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/topics"
)

// Counter counts the pending dead letters, as [deadletters.Counter] does.
type Counter interface {
	Read(ctx context.Context) (deadletters.Count, error)
}

// Gather returns the report. view is the state of the control topic; metrics are the addresses, host:port, of the
// instances to ask. An instance that does not answer, and dead letters that cannot be counted, are part of the report
// and not an error.
func Gather(ctx context.Context, cfg *config.Config, admin *kadm.Client, view control.View, metrics []string, letters Counter) (Report, error) {
	flow, err := GatherFlow(ctx, cfg, admin, view)
	if err != nil {
		return Report{}, err
	}
	r := Report{Flow: flow, Instances: []Instance{}, DeadLetters: deadLetters(ctx, letters)}
	for _, address := range metrics {
		r.Instances = append(r.Instances, Ask(ctx, address, cfg.Pipeline.ID))
	}
	return r, nil
}

// GatherFlow reads from the brokers how records move. view is the state of the control topic.
func GatherFlow(ctx context.Context, cfg *config.Config, admin *kadm.Client, view control.View) (Flow, error) {
	f := Flow{Pipeline: cfg.Pipeline.ID, State: orderOf(view.Pipeline), Batches: []Batch{}}
	for _, id := range slices.Sorted(maps.Keys(view.Batches)) {
		f.Batches = append(f.Batches, Batch{id, orderOf(view.Batches[id])})
	}
	var err error
	if f.Members, f.Mixed, err = members(ctx, cfg, admin); err != nil {
		return Flow{}, err
	}
	return f, f.offsets(ctx, cfg, admin)
}

// countBound is how long a report waits for the count of dead letters. The next report of a watch continues the count.
const countBound = 5 * time.Second

func deadLetters(ctx context.Context, letters Counter) DeadLetters {
	bounded, cancel := context.WithTimeout(ctx, countBound)
	defer cancel()
	n, err := letters.Read(bounded)
	switch {
	case err != nil && bounded.Err() != nil:
		return DeadLetters{Unknown: fmt.Sprintf("the DLQ was not read to its end within %s; see replayer stats", countBound)}
	case err != nil:
		return DeadLetters{Unknown: err.Error()}
	}
	out := DeadLetters{Pending: n.Pending, Escalated: n.Escalated, Replaying: n.Replaying}
	if !n.Oldest.IsZero() {
		out.Oldest = &n.Oldest
	}
	return out
}

// offsets adds the lag of the source and the waiting records of the retry topics.
func (f *Flow) offsets(ctx context.Context, cfg *config.Config, admin *kadm.Client) error {
	all, err := topics.Backlogs(ctx, admin, cfg, kafka.Stable)
	if err != nil {
		return err
	}
	f.source, f.Partitions, f.Lag = all[0].Topic, all[0].Partitions, all[0].Lag()
	for _, t := range all[1:] {
		f.Tiers = append(f.Tiers, Tier{Topic: t.Topic, Waiting: t.Lag(), Former: t.Former, Unread: t.Former && !t.Consumed()})
		f.waits = append(f.waits, t.Partitions)
	}
	return nil
}

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

// memberOf describes one member. Its mapping is unknown while the group rebalances, because brokers do not return announcements then.
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
