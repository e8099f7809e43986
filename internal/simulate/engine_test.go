package simulate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/simulate"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// world is the scenario that both play: one provider that fails often. It has no outage and nothing is compared but counts: the
// engine's clock is the machine's, and a busy machine moves every moment.
const world = `rate: 250
duration: 4s
providers:
  - { name: handler, latency: 5ms, errors: { share: 0.4, answer: http_503 } }
`

// played is what came of it.
type played struct {
	mu                        sync.Mutex
	attempts, delivered, dead int
	into                      map[string]int // by tier
}

func (p *played) see(events []*retrytopics.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		p.attempts++
		switch e.Decision.Outcome {
		case retrytopics.OutcomeRetried:
			p.into[e.Destination]++
		case retrytopics.OutcomeDelivered:
			p.delivered++
		case retrytopics.OutcomeDeadLettered:
			p.dead++
		}
	}
}

// The exact model says what the engine itself does on a broker, in the same world: how often it tries, what dies, and
// how much goes through each tier.
func TestExact_S0_12_agreesWithTheEngine(t *testing.T) {
	sys, engine := system(t)
	scenario, err := simulate.ParseScenario("world.yaml", []byte(world), sys)
	if err != nil {
		t.Fatal(err)
	}
	var attempts, dead float64
	var into [3]float64
	const runs = 20
	for seed := range int64(runs) {
		scenario.Seed, scenario.Model = seed, simulate.ModelExact
		r, err := simulate.Run(t.Context(), sys, scenario)
		if err != nil {
			t.Fatal(err)
		}
		attempts, dead = attempts+r.Attempts/runs, dead+r.DeadLettered/runs
		for i := range into {
			into[i] += r.Tiers[i].Entered / runs
		}
	}
	done := run(t, engine, 1000)
	near := func(what string, simulated, got, slack float64) {
		t.Helper()
		if math.Abs(simulated-got) > slack {
			t.Errorf("%s: the engine %v, simulated %.1f (±%.1f)", what, got, simulated, slack)
		}
	}
	near("attempts", attempts, float64(done.attempts), 0.06*attempts)
	near("dead letters", dead, float64(done.dead), 4*math.Sqrt(dead)+2)
	for i, tier := range engine.Tiers {
		near("retries into "+tier.Topic, into[i], float64(done.into[tier.Topic]), 4*math.Sqrt(into[i])+0.05*into[i])
	}
}

func system(t *testing.T) (simulate.System, retrytopics.Config) {
	t.Helper()
	cfg, err := config.Parse("pipeline.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 4, base_delay_seconds: 0.2, jitter_seconds: 0.1, tiers: [200ms, 800ms, 2s], retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	policies := cfg.Pipeline.RetryPolicy.Engine()
	engine := retrytopics.Config{
		Source: "parcels", Group: "g", Instance: "one", Policy: policies.Default, Policies: policies.ByCategory, Classify: classify.Of,
		Concurrency: cfg.Engine.Concurrency,
	}
	for i, d := range cfg.Pipeline.RetryPolicy.TierDelays() {
		engine.Tiers = append(engine.Tiers, retrytopics.Tier{Topic: cfg.TierTopics()[i], Delay: d})
	}
	return simulate.NewSystem(cfg, engine), engine
}

// run lets the engine work on n records.
func run(t *testing.T, cfg retrytopics.Config, n int) *played {
	t.Helper()
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 4, 1, nil, cfg.Source); err != nil {
		t.Fatal(err)
	}
	p := &played{into: map[string]int{}}
	cfg.Brokers, cfg.OnCommit = []string{broker.Addr()}, p.see
	cfg.Handler = provider
	engine, err := retrytopics.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.CreateTopics(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	eventually.Until(ctx, t, "the engine to own its partitions", func() (bool, string) {
		s := engine.Stats()
		return s.Joined && s.Partitions == 4, fmt.Sprintf("%+v", s)
	})
	send(ctx, t, client, cfg.Source, n)
	eventually.Until(ctx, t, "every record to be finished", func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.delivered+p.dead == n, fmt.Sprintf("%d delivered, %d dead", p.delivered, p.dead)
	})
	cancel()
	<-ended
	return p
}

// send produces n records.
func send(ctx context.Context, t *testing.T, client *kgo.Client, topic string, n int) {
	t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: []byte("{}")})
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// provider answers as the scenario says.
func provider(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
	if rand.Float64() < 0.4 {
		return retrytopics.Result{}, classify.WithStage(classify.StageEnrich, &classify.HTTPError{Status: 503})
	}
	return retrytopics.Result{}, nil
}
