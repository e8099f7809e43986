package retrytopics_test

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// administers calls do with an administrative client. An error of do ends the test.
func (b *broker) administers(do func(context.Context, *kadm.Client) error) {
	b.t.Helper()
	must.Do(b.t, do(b.t.Context(), kadm.NewClient(b.client)))
}

// creates creates a topic of a number of partitions that keeps its records.
func (b *broker) creates(topic string, partitions int32) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.CreateTopic(ctx, partitions, 1, map[string]*string{"retention.ms": new("-1")}, topic)
		return err
	})
}

// configures sets a configuration key of topics.
func (b *broker) configures(key, value string, topics ...string) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		changed, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topics...)
		for _, c := range changed {
			if err == nil {
				err = c.Err
			}
		}
		return err
	})
}

// resets commits an offset in each partition of the source.
func (b *broker) resets(group string, offset int64) {
	b.t.Helper()
	offsets := kadm.Offsets{}
	for p := range int32(partitions) {
		offsets.AddOffset(source, p, offset, -1)
	}
	b.administers(func(ctx context.Context, adm *kadm.Client) error { return adm.CommitAllOffsets(ctx, group, offsets) })
}

// expires deletes a group with its committed offsets.
func (b *broker) expires(group string) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.DeleteGroup(ctx, group)
		return err
	})
}

// byPartition makes the client produce each record to the partition that the record names.
func (b *broker) byPartition() {
	b.t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner())))(b.t)
	b.t.Cleanup(client.Close)
	b.client = client
}

// fails makes the brokers answer requests of a kind with an error, until the fault is removed. An empty topic means all topics.
func fails(cluster *kfake.Cluster, key kmsg.Key, topic string, err *kerr.Error) *kfake.FaultHandle {
	return cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: topic, Err: err, Count: -1})
}
