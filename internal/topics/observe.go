package topics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// observe asks the broker for the plan's topics. Topics that do not exist are missing in the result; any other failure,
// such as a missing permission, is an error.
func observe(ctx context.Context, admin *kadm.Client, plan []Topic) (map[string]observed, error) {
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
	seen := map[string]observed{}
	var existing []string
	var faults []error
	for _, d := range details.Sorted() {
		switch {
		case errors.Is(d.Err, kerr.UnknownTopicOrPartition):
		case d.Err != nil:
			faults = append(faults, fmt.Errorf("ask the broker for topic %s: %w", d.Topic, kafka.DeniedTopic("Describe", d.Topic, d.Err)))
		default:
			seen[d.Topic] = observed{partitions: int32(len(d.Partitions)), settings: map[string]string{}} //nolint:gosec // a count
			existing = append(existing, d.Topic)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return seen, readSettings(ctx, admin, seen, existing)
}

// readSettings adds the settings. A topic that was deleted meanwhile leaves the map.
func readSettings(ctx context.Context, admin *kadm.Client, seen map[string]observed, existing []string) error {
	configs, err := admin.DescribeTopicConfigs(ctx, existing...)
	if err != nil {
		return fmt.Errorf("ask the broker for the settings of the topics: %w", kafka.DeniedTopics("DescribeConfigs", existing, err, func(name string) error {
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
