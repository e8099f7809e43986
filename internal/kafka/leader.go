package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// leader is the broker that leads a partition, if it is known.
type leader struct {
	known   bool
	broker  int32
	topicID [16]byte
}

// find requests the leader unless it is known.
func (l *leader) find(ctx context.Context, cl *kgo.Client, topic string, partition int32) error {
	if l.known {
		return nil
	}
	details, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return fmt.Errorf("look up topic %s: %w", topic, DeniedTopic("Describe", topic, err))
	}
	detail := details[topic]
	if detail.Err != nil {
		return detail.Err
	}
	part, ok := detail.Partitions[partition]
	if !ok {
		return kerr.UnknownTopicOrPartition
	}
	if part.Err != nil {
		return part.Err
	}
	if part.Leader < 0 {
		return kerr.LeaderNotAvailable
	}
	l.known, l.broker, l.topicID = true, part.Leader, detail.ID
	return nil
}
