package retrytopics

import (
	"context"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// A topic has one use.
func TestConfig_aTopicHasOneUse(t *testing.T) {
	for name, c := range map[string]Config{
		"state = DLQ":    {DLQ: "in.dlq", Ordering: Ordering{StateTopic: "in.dlq"}},
		"state = source": {Ordering: Ordering{StateTopic: "in"}},
		"ledger = state": {Dedupe: Dedupe{Window: time.Hour, LedgerTopic: "in.x"}, Ordering: Ordering{StateTopic: "in.x"}},
	} {
		c.Brokers, c.Source, c.Group, c.Handler = []string{"localhost:9"}, "in", "g", func(context.Context, *Record) (Result, error) { return Result{}, nil }
		_, err := c.Complete()
		expect.That(t, err != nil, "%s: accepted", name)
	}
}
