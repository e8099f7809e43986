package retrytopics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Plain use: a handler and four names. The first attempt at each order fails, so it is retried; what no attempt fixes is a
// dead letter at once.
func Example() {
	broker := newExampleBroker("tea", "milk", "???")
	defer broker.stop()

	e, err := engine.New(retrytopics.Config{
		Brokers: broker.addrs, Source: "orders", Group: "billing", Outputs: []string{"bills"},
		Handler: func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
			switch {
			case string(r.Value) == "???":
				return retrytopics.Result{}, retrytopics.Reject(errors.New("not an order"))
			case r.Attempt == 1:
				return retrytopics.Result{}, errors.New("the price list is being written") // unknown: retried
			}
			return retrytopics.Result{Outputs: []*kgo.Record{{Topic: "bills", Key: r.Key, Value: bytes.ToUpper(r.Value)}}}, nil
		},
		Retries: retrytopics.Retries{Tiers: []policy.Tier{{Topic: "orders.retry-50ms", Delay: 50 * time.Millisecond}}},
		Hooks: retrytopics.Hooks{OnCommit: func(events []*retrytopics.Event) {
			for _, e := range events {
				fmt.Println(string(e.Record.Value), e.Decision.Outcome, "to", e.Destination)
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := e.CreateTopics(context.Background()); err != nil { // the retry topics, the DLQ, the engine's memory
		log.Fatal(err)
	}
	if err := e.RunUntilEnd(context.Background()); err != nil { // or Run, until the context ends
		log.Fatal(err)
	}
	// Unordered output:
	// tea retried to orders.retry-50ms
	// milk retried to orders.retry-50ms
	// ??? dead_lettered to orders.dlq
	// tea delivered to bills
	// milk delivered to bills
}

// Ordering: in strict order the second event of a key waits behind the first, which fails once. With the default,
// OrderLatestWins, the second one would overtake it, and the first would be closed as superseded.
func ExampleOrdering() {
	broker := newExampleBroker() // no orders yet
	defer broker.stop()
	broker.produce("cart", "first", "second")

	broker.run(retrytopics.Config{
		Ordering: retrytopics.Ordering{Mode: retrytopics.OrderStrict},
		Handler: func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
			if r.Attempt == 1 && string(r.Value) == "first" {
				return retrytopics.Result{}, &classify.HTTPError{Status: 503}
			}
			fmt.Println(string(r.Key), string(r.Value))
			return retrytopics.Result{}, nil
		},
	})
	// Output:
	// cart first
	// cart second
}

// Outbox: what a handler puts into Outputs is committed with the record's offset, in one transaction, and so is what
// Journal.Event adds once the decision is known. A reader with isolation level read_committed sees all of it or nothing.
func ExampleJournal() {
	broker := newExampleBroker("tea")
	defer broker.stop()

	broker.run(retrytopics.Config{
		Outputs: []string{"bills"},
		Handler: func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
			return retrytopics.Result{Outputs: []*kgo.Record{{Topic: "bills", Key: r.Key, Value: bytes.ToUpper(r.Value)}}}, nil
		},
		Journal: retrytopics.Journal{Event: func(e *retrytopics.Event) ([]*kgo.Record, error) {
			line := fmt.Sprintf("%s: %s after %d attempt", e.Record.Value, e.Decision.Outcome, e.Record.Attempt)
			return []*kgo.Record{{Topic: "outbox", Key: e.Record.Key, Value: []byte(line)}}, nil
		}},
	})
	fmt.Println(broker.committed("bills"))
	fmt.Println(broker.committed("outbox"))
	// Output:
	// [TEA]
	// [tea: delivered after 1 attempt]
}

// Metrics: OnCommit sees what has truly happened, with an outcome and a code that are closed lists, fit for labels. Stats of the engine
// has what a scrape asks for.
func ExampleHooks() {
	broker := newExampleBroker("tea", "milk")
	defer broker.stop()

	outcomes, failures := map[policy.Outcome]int{}, map[classify.Code]int{}
	broker.run(retrytopics.Config{
		Handler: func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
			if r.Attempt == 1 && string(r.Value) == "tea" {
				return retrytopics.Result{}, &classify.HTTPError{Status: 503}
			}
			return retrytopics.Result{}, nil
		},
		Hooks: retrytopics.Hooks{OnCommit: func(events []*retrytopics.Event) { // one goroutine: no lock
			for _, e := range events {
				outcomes[e.Decision.Outcome]++
				if e.Failure != nil {
					failures[e.Failure.Code]++
				}
			}
		}},
	})
	fmt.Println(outcomes)
	fmt.Println(failures)
	// Output:
	// map[delivered:2 retried:1]
	// map[http_unavailable:1]
}

// Testing a handler without a broker: it is a function of a Record, and policy.Decide is the engine's own decision about its error.
func ExampleHandler() {
	handler := func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if len(r.Value) == 0 {
			return retrytopics.Result{}, retrytopics.Reject(errors.New("empty order"))
		}
		return retrytopics.Result{}, retrytopics.RetryAfter(5*time.Second, errors.New("the printer is warming up"))
	}

	tiers := []policy.Tier{{Topic: "orders.retry-2s", Delay: 2 * time.Second}, {Topic: "orders.retry-8s", Delay: 8 * time.Second}}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"", "tea"} {
		_, err := handler(context.Background(), &retrytopics.Record{Value: []byte(value), Attempt: 1})
		d := policy.Decide(policy.Policies{}, tiers, policy.Tried{Attempts: 1}, classify.Of(err), now, func() float64 { return 0 })
		fmt.Println(d.Outcome, d.Reason)
		if d.Outcome == policy.OutcomeRetried {
			fmt.Println(tiers[d.Tier].Topic, d.Due.Sub(now))
		}
	}
	// Output:
	// dead_lettered permanent_failure
	// retried retry_after
	// orders.retry-8s 5s
}
