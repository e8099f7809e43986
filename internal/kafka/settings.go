package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Settings returns the settings of one topic by name. The error is the broker's, unchanged (see [DeniedTopic]).
func Settings(ctx context.Context, admin *kadm.Client, topic string) (map[string]string, error) {
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	found, err := configs.On(topic, nil)
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, c := range found.Configs {
		settings[c.Key] = c.MaybeValue()
	}
	return settings, nil
}
