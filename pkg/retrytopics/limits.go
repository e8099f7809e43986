package retrytopics

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// TopicLimits are the limits of topics, for callers that judge a record without an engine, such as a dry run.
type TopicLimits struct{ limits *kafka.Limits }

// ReadLimits asks the cluster for the limits of topics. It returns an error if one of them is unknown.
func ReadLimits(ctx context.Context, client *kgo.Client, topics ...string) (*TopicLimits, error) {
	told, err := kafka.ReadLimits(ctx, kadm.NewClient(client), topics)
	if err != nil {
		return nil, fmt.Errorf("read the limits of topics: %w", err)
	}
	for _, topic := range topics {
		if _, ok := told.Bytes[topic]; !ok {
			return nil, fmt.Errorf("the settings of topic %s cannot be read: does it exist, and may this client describe it (DescribeConfigs)?", topic)
		}
	}
	return &TopicLimits{kafka.NewLimits(told, topics)}, nil
}
