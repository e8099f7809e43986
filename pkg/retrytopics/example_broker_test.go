package retrytopics_test

import (
	"context"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// exampleBroker is a broker in this process (kfake), with the topics orders, bills and outbox of one partition each.
type exampleBroker struct {
	cluster *kfake.Cluster
	client  *kgo.Client
	addrs   []string
}

// newExampleBroker produces the orders, each with a key of its own.
func newExampleBroker(orders ...string) *exampleBroker {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders", "bills", "outbox"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		log.Fatal(err)
	}
	b := &exampleBroker{cluster: cluster, client: client, addrs: cluster.ListenAddrs()}
	for _, order := range orders {
		b.produce("key of "+order, order)
	}
	return b
}

func (b *exampleBroker) produce(key string, values ...string) {
	for _, value := range values {
		r := &kgo.Record{Topic: "orders", Key: []byte(key), Value: []byte(value)}
		if err := b.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			log.Fatal(err)
		}
	}
}

// run handles every order with an engine of this configuration until all are finished.
func (b *exampleBroker) run(cfg retrytopics.Config) {
	cfg.Brokers, cfg.Source, cfg.Group = b.addrs, "orders", "billing"
	cfg.Retries.Tiers = []policy.Tier{{Topic: "orders.retry-50ms", Delay: 50 * time.Millisecond}}
	e, err := engine.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := e.CreateTopics(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := e.RunUntilEnd(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// committed waits for the first committed records of a topic, and returns their values.
func (b *exampleBroker) committed(topic string) []string {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var values []string
	for len(values) == 0 {
		client.PollFetches(context.Background()).EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

func (b *exampleBroker) stop() {
	b.client.Close()
	b.cluster.Close()
}
