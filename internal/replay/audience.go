package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// Audience is a consumer group that reads a topic to which dead letters go: it receives their records again.
type Audience struct {
	Topic, Group string
	Lag          int64 // records that it has not read, at most
}

// maxGroups limits the groups whose offsets are requested.
const maxGroups = 1000

// Audiences lists the consumer groups with committed offsets in the topics to which the dead letters of a plan go, by
// topic and group.
func (s *Service) Audiences(ctx context.Context, p *plan.Plan) ([]Audience, error) {
	targets := slices.Sorted(maps.Keys(p.Targets()))
	if len(targets) == 0 {
		return nil, nil
	}
	admin := kadm.NewClient(s.client)
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the consumer groups: %w", kafka.DeniedGroup("Describe", "*", err))
	}
	groups := listed.Groups()
	if len(groups) > maxGroups {
		return nil, fmt.Errorf("the cluster has %d consumer groups; the offsets of at most %d are looked up", len(groups), maxGroups)
	}
	var out []Audience
	for group, answer := range admin.FetchManyOffsets(ctx, groups...) {
		read := slices.DeleteFunc(slices.Clone(targets), func(topic string) bool { return answer.Err != nil || len(answer.Fetched[topic]) == 0 })
		if len(read) == 0 {
			continue
		}
		lags, err := kafka.Lag(ctx, admin, group, kafka.Written, read...)
		if err != nil {
			return nil, err
		}
		for _, topic := range read {
			a := Audience{Topic: topic, Group: group}
			for _, p := range lags[topic] {
				a.Lag += p.Lag
			}
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Audience) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Group, b.Group))
	})
	return out, nil
}
