package retrytopics_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// The engine retries each record by the policy of its failure's category, and says so in its headers.
func TestEngine_S3_3_everyCategoryHasItsOwnPolicy(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	causes := []error{unavailable, fmt.Errorf("dial: %w", syscall.ECONNREFUSED), fmt.Errorf("dial: %w", syscall.EMFILE), fmt.Errorf("produce: %w", kerr.NotEnoughReplicas), fmt.Errorf("allocate: %w", syscall.ENOMEM)}
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, causes[int(r.Key[1]-'0')]
	})
	cfg.Retries.Policy.MaxAttempts = 4
	cfg.Retries.ByCategory = map[classify.Category]policy.Policy{
		classify.CategoryServer:  {MaxAttempts: 3, Strategy: policy.StrategyFixed, BaseDelay: time.Millisecond},
		classify.CategoryNetwork: {MaxAttempts: 6, Strategy: policy.StrategyDecorrelatedJitter, BaseDelay: time.Millisecond, MaxDelay: 20 * time.Millisecond},
	}
	b.produce(events(len(causes))...)
	b.drain(b.engine(cfg))
	want := map[string]string{
		"k0": "http_unavailable 3 of 3", "k1": "connection_refused 6 of 6",
		"k2": "io_failed 2 of 2", "k3": "broker_unavailable 4 of 4",
		"k4": "out_of_memory 2 of 2", // once more, alone (S4-3)
	}
	for _, deadLetter := range b.read(source + ".dlq") {
		c, err := header.ParseControl(deadLetter.Headers)
		got := fmt.Sprintf("%s %d of %d", c.ErrorCode, c.Attempt, c.MaxAttempts)
		if key := string(deadLetter.Key); err != nil || got != want[key] {
			t.Errorf("%s: %s, want %s (%v)", key, got, want[key], err)
		}
		delete(want, string(deadLetter.Key))
	}
	expect.That(t, len(want) <= 0, "no letter says %v", want)
}
