package retrytopics_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S2-5: tiers and DLQ say what was asked and answered at the latest failure, and nothing of the failures before it.
func TestEngine_S2_5_lettersSayWhatWasAskedAndAnswered(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	index := classify.Request{Step: "place", TookMS: 31}
	asked := func(err error) error { return classify.WithRequest(index, err) }
	tries := map[string][]error{
		"k0": {asked(fmt.Errorf("produce: %w", kerr.NotEnoughReplicas)), asked(unavailable)},
		"k1": {asked(unavailable), context.DeadlineExceeded}, // a failure of which nothing is known leaves nothing of the former one
	}
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, tries[string(r.Key)][r.Attempt-1]
	})
	cfg.Retries.Policy.MaxAttempts = 2
	b.produce(events(2)...)
	b.drain(b.engine(cfg))
	const request = `{"step":"place","method":"GET","url":"http://places","took_ms":31}`
	wanted := map[string][2]string{
		cfg.Retries.Tiers[0].Topic + " k0": {`{"step":"place","took_ms":31}`, `{"kafka_error":19}`},
		cfg.Retries.Tiers[0].Topic + " k1": {request, `{"status":503}`},
		source + ".dlq k0":                 {request, `{"status":503}`},
		source + ".dlq k1":                 {"", ""},
	}
	for _, topic := range []string{cfg.Retries.Tiers[0].Topic, source + ".dlq"} {
		for _, r := range b.read(topic) {
			at := topic + " " + string(r.Key)
			got := [2]string{headerOf(r, header.KeyErrorRequest), headerOf(r, header.KeyErrorResponse)}
			if got != wanted[at] {
				t.Errorf("%s: %q, want %q", at, got, wanted[at])
			}
			delete(wanted, at)
		}
	}
	expect.That(t, len(wanted) <= 0, "nothing was read of %v", wanted)
}
