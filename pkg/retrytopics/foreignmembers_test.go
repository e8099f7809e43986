package retrytopics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// S3-1: a second pipeline with the group of the first one is refused, and the first one goes on.
func TestGroup_S3_1_isThatOfOnePipeline(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx, stop := context.WithTimeout(b.t.Context(), testrun.Patient(60*time.Second))
	defer stop()
	var delivered atomic.Int64
	cfg := b.config(failsFirst(t, 0))
	cfg.Hooks.OnCommit = func(events []*retrytopics.Event) { delivered.Add(int64(len(events))) }
	first := b.engine(cfg)
	ended := make(chan error, 1)
	running, end := context.WithCancel(ctx)
	go func() { ended <- first.Run(running) }()
	b.produce(&kgo.Record{Key: []byte("a"), Value: []byte("v")})
	eventually.Until(ctx, t, "the first record", func() (bool, string) { n := delivered.Load(); return n == 1, fmt.Sprint(n) })

	b.creates("parcels", partitions)
	other := b.config(failsFirst(t, 0))
	other.Source, other.Membership.Instance, other.DLQ = "parcels", "two", ""
	other.Retries.Tiers = []policy.Tier{{Topic: "parcels.retry-1s", Delay: time.Second}}
	err := b.engine(other).Run(ctx)
	must.That(t, errors.Is(err, retrytopics.ErrGroup), "%v, want ErrGroup", err)
	for _, want := range []string{"group g", "do not consume parcels", "one on", "features", "source.group"} {
		expect.That(t, strings.Contains(err.Error(), want), "%q is not in: %v", want, err)
	}

	b.produce(&kgo.Record{Key: []byte("b"), Value: []byte("v")})
	eventually.Until(ctx, t, "the record after the refusal", func() (bool, string) { n := delivered.Load(); return n == 2, fmt.Sprint(n) })
	end()
	expect.Do(t, <-ended)
}
