package simulate_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/simulate"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// TestMain runs more tests in parallel than there are processors, because some wait for the engine.
func TestMain(m *testing.M) {
	testrun.Together(8)
	os.Exit(m.Run())
}

// worlds returns the scenarios that both play: providers that fail often. They have no outage, and only counts are
// compared, because the engine's clock is the machine's.
func worlds() map[string]struct {
	enrich   string // with the addresses of main and mirror
	scenario string
	fails    map[string]float64 // by address
} {
	return map[string]struct {
		enrich, scenario string
		fails            map[string]float64
	}{
		"one provider": {
			`enrich: [{name: place, http: {url: "MAIN", allow_private: true}, set: {a: /a}}]`,
			"rate: 250\nduration: 4s\nproviders: [{name: place, latency: 5ms, errors: {share: 0.4}}]",
			map[string]float64{"MAIN": 0.4},
		},
		"S2-6 a fallback": {
			`enrich:
  - name: place
    providers:
      - { name: main, http: { url: "MAIN", allow_private: true } }
      - { name: mirror, http: { url: "MIRROR", allow_private: true } }
    set: { a: /a }`,
			`rate: 250
duration: 4s
providers:
  - { name: place/main, latency: 5ms, errors: { share: 0.7 } }
  - { name: place/mirror, latency: 5ms, errors: { share: 0.5 } }`,
			map[string]float64{"MAIN": 0.7, "MIRROR": 0.5},
		},
	}
}

// played is the result of a run of the engine.
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
		case policy.OutcomeRetried:
			p.into[e.Destination]++
		case policy.OutcomeDelivered:
			p.delivered++
		case policy.OutcomeDeadLettered:
			p.dead++
		}
	}
}

// S0-12: the simulation predicts the behaviour of the engine on a broker with real remote steps in the same world:
// the number of attempts and dead letters, the records of each tier, and the requests to each provider.
func TestRun_S0_12_agreesWithTheEngine(t *testing.T) {
	t.Parallel()
	for name, c := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.enrich
			for mark, share := range c.fails {
				text = strings.ReplaceAll(text, mark, serve(t, share))
			}
			sys, engine, steps := system(t, text)
			simulated := average(t, sys, c.scenario)
			const records = 1000
			done := run(t, engine, steps, records)
			near := func(what string, simulated, got, slack float64) {
				t.Helper()
				expect.That(t, math.Abs(simulated-got) <= slack, "%s: the engine %v, simulated %.1f (±%.1f)", what, got, simulated, slack)
			}
			near("attempts", simulated.attempts, float64(done.attempts), 0.06*simulated.attempts)
			near("dead letters", simulated.dead, float64(done.dead), 4*math.Sqrt(simulated.dead)+2)
			for i, tier := range engine.Retries.Tiers {
				near("retries into "+tier.Topic, simulated.into[i], float64(done.into[tier.Topic]), 4*math.Sqrt(simulated.into[i])+0.05*simulated.into[i])
			}
			for i, status := range steps.Status() {
				near("requests to "+status.Provider, simulated.requests[i], float64(status.Sent), 0.08*simulated.requests[i])
				near("fallbacks to "+status.Provider, simulated.fallbacks[i], float64(status.Fallbacks), 0.1*simulated.fallbacks[i])
			}
		})
	}
}

// means are the averages of several simulations.
type means struct {
	attempts, dead      float64
	into                [3]float64
	requests, fallbacks [2]float64
}

func average(t *testing.T, sys simulate.System, text string) (m means) {
	t.Helper()
	scenario := must.Get(simulate.ParseScenario("world.yaml", []byte(text), sys))(t)
	const runs = 20
	for seed := range int64(runs) {
		scenario.Seed = seed
		r := must.Get(simulate.Run(t.Context(), sys, scenario))(t)
		m.attempts, m.dead = m.attempts+r.Attempts/runs, m.dead+r.DeadLettered/runs
		for i := range m.into {
			m.into[i] += r.Tiers[i].Entered / runs
		}
		for i, p := range r.Providers {
			m.requests[i], m.fallbacks[i] = m.requests[i]+p.Requests/runs, m.fallbacks[i]+p.Fallbacks/runs
		}
	}
	return m
}

// serve returns the address of a service that fails for a share of the requests. Whether the nth request for an id fails
// depends on the id, n and the share alone, so the outcome does not depend on the order of requests.
func serve(t *testing.T, share float64) string {
	t.Helper()
	var mu sync.Mutex
	requests := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("id")
		mu.Lock()
		requests[id]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %v", id, requests[id], share))
		mu.Unlock()
		if float64(binary.BigEndian.Uint64(sum[:]))/(1<<64) < share {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"a":1}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/?id={id}"
}

func system(t *testing.T, rest string) (simulate.System, retrytopics.Config, *enrich.Steps) {
	t.Helper()
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 4, base_delay_seconds: 0.1, jitter_seconds: 0.05, tiers: [100ms, 400ms, 1s], retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 1, max_dead_letter_rate: 1 }
`+rest), nil))(t)
	policies := cfg.Pipeline.RetryPolicy.Engine()
	engine := retrytopics.Config{
		Source: "parcels", Group: "g", Membership: retrytopics.Membership{Instance: "one"}, Retries: retrytopics.Retries{Policy: policies.Default, ByCategory: policies.ByCategory, Classify: classify.Of},
		Limits: retrytopics.Limits{Concurrency: cfg.Engine.Concurrency},
	}
	for i, d := range cfg.Pipeline.RetryPolicy.TierDelays() {
		engine.Retries.Tiers = append(engine.Retries.Tiers, policy.Tier{Topic: cfg.TierTopics()[i], Delay: d})
	}
	steps := must.Get(enrich.New(cfg.Enrich, enrich.Options{Classify: classify.Of, RetryAfterLimit: time.Hour}))(t)
	t.Cleanup(steps.Close)
	return simulate.NewSystem(cfg, engine), engine, steps
}

// run runs the engine on n records.
func run(t *testing.T, cfg retrytopics.Config, steps *enrich.Steps, n int) *played {
	t.Helper()
	broker := must.Get(devbroker.Start(devbroker.Options{}))(t)
	t.Cleanup(broker.Close)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(broker.Addr())))(t)
	t.Cleanup(client.Close)
	must.Get(kadm.NewClient(client).CreateTopic(t.Context(), 4, 1, nil, cfg.Source))(t)
	p := &played{into: map[string]int{}}
	cfg.Brokers, cfg.Hooks.OnCommit = []string{broker.Addr()}, p.see
	cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		f := &transform.Feature{ID: transform.StringValue(string(r.Key))}
		return retrytopics.Result{}, steps.Apply(ctx, f, "")
	}
	e := must.Get(engine.New(cfg))(t)
	must.Do(t, e.CreateTopics(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(time.Minute))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	eventually.Until(ctx, t, "the engine to own its partitions", func() (bool, string) {
		s := e.Stats()
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
	must.Do(t, client.ProduceSync(ctx, records...).FirstErr())
}

func exampleReport() simulate.Report {
	took, is := simulate.Seconds(43.2), 12.0
	return simulate.Report{
		Pipeline: "parcels", Rate: 1e6, Duration: 3600, Instances: 4, Seed: 1,
		Records: 3.6e9, Delivered: 3.6e9, DeadLettered: 1234, DLQShare: 0.0001, Retries: 5,
		ByCode:     []simulate.Share{{Name: "http_unavailable", Records: 1234}},
		Recovery:   []simulate.Recovery{{Provider: "place", From: 900, To: 1500, Took: &took}},
		Timelines:  []simulate.Timeline{{Code: "http_unavailable", Reason: "retries_exhausted", Waits: []simulate.Wait{{Attempt: 2, Least: 2, Most: 3, Topic: "parcels.retry-2s", Earliest: 2, Latest: 3}}}},
		Tiers:      []simulate.TierLoad{{Topic: "parcels.retry-2s", Delay: 2, Peak: 1500, PeakAt: 60}},
		Providers:  []simulate.ProviderLoad{{Name: "place", Requests: 10, Peak: 3}},
		Series:     []simulate.Point{{At: 0, Waiting: []float64{1}, Requests: []float64{2}}, {At: 60, Waiting: []float64{1500}, Requests: []float64{3}}},
		Superseded: 7, Behind: 9, Unfinished: 3,
		Pauses:      []simulate.Pause{{At: 90, For: 600, Code: "transient_rate", Reason: "too many", InSource: 4000, InTiers: 12}},
		PausedTimes: 3, PausedTime: 1800,
		NotModelled:  []string{"the weather"},
		Expectations: []simulate.Verdict{{Expectation: "max_drain_time", Limit: 60, Why: "too slow"}, {Expectation: "max_lag", Limit: 20, Actual: &is, OK: true}},
	}
}

func TestPrint_tellsWhatTheReportSays(t *testing.T) {
	var out strings.Builder
	must.Do(t, simulate.Print(&out, exampleReport()))
	for _, want := range []string{
		"1,000,000 records a second for 1h0m0s", "2s to 3s", "retries_exhausted", "0.01 % of the records: http_unavailable 1,234",
		"15m0s to 25m0s", "backlog drained after 43.2s", "drained", "never",
		"BROKEN too slow", "max_lag", "PAUSED by a gate", "for 10m0s (it stays paused; set resume_after in the scenario to simulate a resume): too many",
		"4,000 wait in the source and 12 in the tiers", "times, 30m0s altogether", "waiting while the pipeline is paused", "behind a record of the same key",
		"NOT MODELLED\nthe weather", "superseded",
	} {
		expect.That(t, strings.Contains(out.String(), want), "%q is missing in\n%s", want, out.String())
	}
	expect.That(t, !strings.Contains(out.String(), "\x1b"), "colours in plain text")
}
