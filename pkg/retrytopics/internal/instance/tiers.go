package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// formerTiers returns the former tiers of the latest session.
func (in *Instance) formerTiers() []topics.Former {
	if known := in.Former.Load(); known != nil {
		return *known
	}
	return nil
}

// Consumed lists the source, the tiers and the former tiers, in this order.
func (in *Instance) Consumed() []string { return in.Cluster.Consumed(in.formerTiers()) }

// Tier returns a tier by its index in tiers.
func (in *Instance) Tier(i int) policy.Tier {
	if i < len(in.Cfg.Retries.Tiers) {
		return in.Cfg.Retries.Tiers[i]
	}
	return in.formerTiers()[i-len(in.Cfg.Retries.Tiers)].Tier
}

// tiers lists the configured tiers, then the former ones. Records are only written to configured tiers.
func (in *Instance) tiers() []policy.Tier {
	all := slices.Clone(in.Cfg.Retries.Tiers)
	for _, f := range in.formerTiers() {
		all = append(all, f.Tier)
	}
	return all
}

// errTiersChanged ends a session whose former tiers differ from the cluster's.
var errTiersChanged = errors.New("the tier topics on the cluster have changed")

// Rediscover returns errTiersChanged if former tiers have appeared or disappeared since the latest session began. The
// next session consumes the current ones.
func (in *Instance) Rediscover(ctx context.Context, adm *kadm.Client) (changed, err error) {
	found, err := in.Cluster.Discover(ctx, adm)
	if err != nil {
		return nil, err
	}
	known := in.formerTiers()
	if slices.Equal(found, known) {
		return nil, nil
	}
	return fmt.Errorf("%w: former tiers were [%s], are [%s]", errTiersChanged, listTiers(known), listTiers(found)), nil
}

func listTiers(former []topics.Former) string {
	names := make([]string, len(former))
	for i, f := range former {
		names[i] = f.Topic
	}
	return strings.Join(names, " ")
}
