package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// existing reads the partition counts of the plan's topics that exist. Any other failure than a missing topic, such
// as a missing permission, is an error.
func existing(ctx context.Context, admin *kadm.Client, plan []Topic) (map[string]int32, error) {
	names := make([]string, len(plan))
	for i, t := range plan {
		names[i] = t.Name
	}
	// A request for the permitted operations bypasses the client's cache, which would report a new topic as missing for
	// seconds.
	details, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx), names...)
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics: %w", kafka.DeniedTopics("Describe", names, err, func(name string) error {
			_, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx), name)
			return err
		}))
	}
	counts := map[string]int32{}
	var faults []error
	for _, d := range details.Sorted() {
		switch {
		case errors.Is(d.Err, kerr.UnknownTopicOrPartition):
		case d.Err != nil:
			faults = append(faults, fmt.Errorf("ask the broker for topic %s: %w", d.Topic, kafka.DeniedTopic("Describe", d.Topic, d.Err)))
		default:
			counts[d.Topic] = int32(len(d.Partitions)) //nolint:gosec // a count
		}
	}
	return counts, errors.Join(faults...)
}

// Missing returns the topics of a plan that do not exist.
func Missing(ctx context.Context, admin *kadm.Client, plan []Topic) ([]Topic, error) {
	counts, err := existing(ctx, admin, plan)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(plan), func(t Topic) bool { return counts[t.Name] > 0 }), nil
}

// observe reads the plan's topics with their settings. Topics that do not exist are missing in the result.
func observe(ctx context.Context, admin *kadm.Client, plan []Topic) (map[string]observed, error) {
	counts, err := existing(ctx, admin, plan)
	if err != nil {
		return nil, err
	}
	seen := map[string]observed{}
	for name, partitions := range counts {
		seen[name] = observed{partitions: partitions, settings: map[string]string{}}
	}
	return seen, readSettings(ctx, admin, seen, slices.Sorted(maps.Keys(seen)))
}

// readSettings adds the settings. A topic that was deleted meanwhile leaves the map.
func readSettings(ctx context.Context, admin *kadm.Client, seen map[string]observed, names []string) error {
	configs, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return fmt.Errorf("ask the broker for the settings of the topics: %w", kafka.DeniedTopics("DescribeConfigs", names, err, func(name string) error {
			_, err := admin.DescribeTopicConfigs(ctx, name)
			return err
		}))
	}
	var faults []error
	for _, topic := range configs {
		switch {
		case errors.Is(topic.Err, kerr.UnknownTopicOrPartition):
			delete(seen, topic.Name)
		case topic.Err != nil:
			faults = append(faults, fmt.Errorf("ask the broker for the settings of topic %s: %w", topic.Name, kafka.DeniedTopic("DescribeConfigs", topic.Name, topic.Err)))
		default:
			for _, c := range topic.Configs {
				seen[topic.Name].settings[c.Key] = c.MaybeValue()
			}
		}
	}
	return errors.Join(faults...)
}

// bootstrap returns the addresses of at most three brokers, for the fixing commands.
func bootstrap(ctx context.Context, admin *kadm.Client) (string, error) {
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return "", fmt.Errorf("ask for the brokers: %w", err)
	}
	var addresses []string
	for _, b := range brokers[:min(len(brokers), 3)] {
		addresses = append(addresses, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
	}
	return strings.Join(addresses, ","), nil
}
