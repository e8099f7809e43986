package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
)

// A bounded run that a gate holds with its last record ends as held, even when nobody else can be told.
func TestRun_S1_8_S4_12_endsHeldThoughTheOrderCannotBeWritten(t *testing.T) {
	t.Parallel()
	broker := must.Get(devbroker.Start(devbroker.Options{}))(t)
	t.Cleanup(broker.Close)
	cfg := parse(t, "kafka: { brokers: [\""+broker.Addr()+"\"] }\n")
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(broker.Addr())))(t)
	t.Cleanup(client.Close)
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(client), topics.Plan(cfg)))(t)
	c, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.orders.write = &recorder{failures: 1000}
	err = c.underOrders(t.Context(), func(context.Context) error {
		c.orders.hold(t.Context(), time.Now(), control.CodeNullRate, "too many")
		return nil
	}, true)
	if held, is := errors.AsType[*HeldError](err); !is || held.State.Reason != "too many" {
		t.Errorf("ended with: %v", err)
	}
}
