package dlqindex

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Who may not look at the status topic of a DLQ without a pipeline sees all dead letters as pending, and is told.
func TestIndex_S4_6_aStatusTopicThatMayNotBeLookedAtIsADoubt(t *testing.T) {
	t.Parallel()
	const status = "payments.DLT.replayer-status"
	broker := fakekafka.Start(t, kfake.SeedTopics(1, "payments.DLT", status))
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: "payments.DLT", Brokers: broker.ListenAddrs()}, nil, nil))(t)
	for _, denied := range []bool{false, true} {
		if denied {
			broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: status, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}
		var doubts []string
		x := must.Get(OpenIndex(t.Context(), fakekafka.Client(t, broker), cfg, Options{Alone: true, Place: InMemory, Doubt: func(why string) { doubts = append(doubts, why) }}))(t)
		if _, err := x.Fresh(t.Context()); err != nil {
			t.Error(err)
		}
		if said := strings.Join(doubts, "\n"); denied != strings.Contains(said, status) || len(doubts) > 1 {
			t.Errorf("denied %v: %q", denied, said)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
