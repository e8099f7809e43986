package retrytopics_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Exactly-once, non-blocking retry topics for a handler of your own.
func ExampleEngine() {
	brokers, stop := exampleBroker() // an in-process broker with two orders in the topic
	defer stop()

	engine, err := retrytopics.New(retrytopics.Config{
		Brokers: brokers, Source: "orders", Group: "billing",
		Handler: func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
			if r.Attempt == 1 {
				return retrytopics.Result{}, &classify.HTTPError{Status: 503} // passes: tried again from a retry topic
			}
			return retrytopics.Result{Outputs: []*kgo.Record{{Topic: "bills", Key: r.Key, Value: bytes.ToUpper(r.Value)}}}, nil
		},
		Tiers: []retrytopics.Tier{{Topic: "orders.retry-50ms", Delay: 50 * time.Millisecond}},
		OnCommit: func(events []*retrytopics.Event) {
			for _, e := range events {
				fmt.Println(e.Decision.Outcome, "to", e.Destination)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := engine.CreateTopics(context.Background()); err != nil { // the retry topics and the DLQ
		log.Fatal(err)
	}
	if err := engine.RunUntilEnd(context.Background()); err != nil { // or Run, until the context ends
		log.Fatal(err)
	}
	// Unordered output:
	// retried to orders.retry-50ms
	// retried to orders.retry-50ms
	// delivered to bills
	// delivered to bills
}

func exampleBroker() (addrs []string, stop func()) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders", "bills"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	client.ProduceSync(context.Background(),
		&kgo.Record{Topic: "orders", Key: []byte("a"), Value: []byte("tea")},
		&kgo.Record{Topic: "orders", Key: []byte("b"), Value: []byte("milk")})
	return cluster.ListenAddrs(), cluster.Close
}

// Every category of failures may have a policy of its own: the delay of attempt n of category c.
func ExamplePolicies() {
	policies := retrytopics.Policies{
		Default: retrytopics.Policy{MaxAttempts: 4},
		ByCategory: map[classify.Category]retrytopics.Policy{
			classify.CategoryTimeout: retrytopics.PresetSTAC.Policy(),
		},
	}
	tiers := []retrytopics.Tier{{Topic: "f.retry-2s", Delay: 2 * time.Second}, {Topic: "f.retry-8s", Delay: 8 * time.Second}}
	for _, category := range []classify.Category{classify.CategoryNetwork, classify.CategoryTimeout} {
		policy := policies.For(category)
		for attempt := 1; attempt < policy.MaxAttempts; attempt++ {
			least, most := policy.Bounds(attempt, tiers)
			fmt.Println(category, attempt, least, most)
		}
	}
	// Output:
	// network 1 2s 3s
	// network 2 8s 9s
	// network 3 8s 9s
	// timeout 1 500ms 1s
	// timeout 2 1s 2s
	// timeout 3 2s 4s
}
