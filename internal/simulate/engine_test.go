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

// world is the scenario that both play: one provider that fails often, and is down for a while.
const world = `rate: 250
duration: 4s
providers:
  - { name: handler, latency: 5ms, errors: { share: 0.3, answer: http_503 }, outages: [{ from: 1s, for: 1s, answer: http_502 }] }
`

// played is what came of it.
type played struct {
	mu                  sync.Mutex
	attempts, delivered int
	dead                int
	into                map[string]int // by tier
	waits               map[string][]wait
	last                time.Time
	began               time.Time
	tierOf              map[string]string
	entered             map[string]time.Time
}

type wait struct{ from, to time.Time }

func (p *played) see(events []retrytopics.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		id := e.Record.Source.String()
		p.attempts++
		if tier := p.tierOf[id]; tier != "" {
			p.waits[tier] = append(p.waits[tier], wait{p.entered[id], e.At})
			delete(p.tierOf, id)
		}
		switch e.Decision.Outcome {
		case retrytopics.OutcomeRetried:
			p.into[e.Destination]++
			p.tierOf[id], p.entered[id] = e.Destination, e.At
		case retrytopics.OutcomeDelivered:
			p.delivered++
			p.last = e.At
		case retrytopics.OutcomeDeadLettered:
			p.dead++
			p.last = e.At
		}
	}
}

// peak gives the most that waited in a tier at once.
func (p *played) peak(tier string) int {
	most := 0
	for _, at := range p.waits[tier] {
		n := 0
		for _, w := range p.waits[tier] {
			if !w.from.After(at.from) && w.to.After(at.from) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// The exact model says what the engine itself does on a broker, in the same world: how often it tries, what dies, what
// waits where, and when all is done.
func TestExact_S0_12_agreesWithTheEngine(t *testing.T) {
	sys, engine := system(t)
	scenario, err := simulate.ParseScenario("world.yaml", []byte(world), sys)
	if err != nil {
		t.Fatal(err)
	}
	var attempts, dead, drain float64
	var peaks, into [3]float64
	const runs = 20
	for seed := range int64(runs) {
		scenario.Seed, scenario.Model = seed, simulate.ModelExact
		r, err := simulate.Run(t.Context(), sys, scenario)
		if err != nil {
			t.Fatal(err)
		}
		attempts, dead, drain = attempts+r.Attempts/runs, dead+r.DeadLettered/runs, drain+float64(*r.DrainTime)/runs
		for i := range peaks {
			peaks[i] += r.Tiers[i].Peak / runs
			into[i] += r.Tiers[i].Entered / runs
		}
	}
	real := run(t, engine, 1000)
	near := func(what string, simulated, got, slack float64) {
		t.Helper()
		if math.Abs(simulated-got) > slack {
			t.Errorf("%s: the engine %v, simulated %.1f (±%.1f)", what, got, simulated, slack)
		}
	}
	near("attempts", attempts, float64(real.attempts), 0.06*attempts)
	near("dead letters", dead, float64(real.dead), 4*math.Sqrt(dead)+2)
	near("seconds to drain", drain, real.last.Sub(real.began).Seconds()-scenario.Duration.Std().Seconds(), 1)
	for i, tier := range engine.Tiers {
		near("retries into "+tier.Topic, into[i], float64(real.into[tier.Topic]), 4*math.Sqrt(into[i])+0.05*into[i])
		near("most in "+tier.Topic, peaks[i], float64(real.peak(tier.Topic)), 0.25*peaks[i]+8)
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

// run lets the engine work on n records that come in four seconds.
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
	p := &played{into: map[string]int{}, waits: map[string][]wait{}, tierOf: map[string]string{}, entered: map[string]time.Time{}}
	cfg.Brokers, cfg.OnCommit = []string{broker.Addr()}, p.see
	cfg.Handler = p.provider
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
	p.mu.Lock()
	p.began = time.Now()
	p.mu.Unlock()
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

// send produces n records, one every 4 ms.
func send(ctx context.Context, t *testing.T, client *kgo.Client, topic string, n int) {
	t.Helper()
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for i := range n {
		client.Produce(ctx, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: []byte("{}")}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
		<-tick.C
	}
}

// provider answers as the scenario says.
func (p *played) provider(ctx context.Context, _ *retrytopics.Record) (retrytopics.Result, error) {
	p.mu.Lock()
	at := time.Since(p.began)
	p.mu.Unlock()
	select {
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return retrytopics.Result{}, ctx.Err()
	}
	switch {
	case time.Second <= at && at < 2*time.Second:
		return retrytopics.Result{}, classify.WithStage(classify.StageEnrich, &classify.HTTPError{Status: 502})
	case rand.Float64() < 0.3:
		return retrytopics.Result{}, classify.WithStage(classify.StageEnrich, &classify.HTTPError{Status: 503})
	}
	return retrytopics.Result{}, nil
}
