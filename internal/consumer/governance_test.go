package consumer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	orders "github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// governed is a scene whose pipeline has governance rules.
type governed struct{ *scene }

func newGoverned(t *testing.T, service http.HandlerFunc) *governed {
	t.Helper()
	return &governed{newScene(t, service, `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 0.1, jitter: false, tiers: [100ms, 200ms], retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false, max_dead_letter_rate: 1 }
kafka: { brokers: [%q] }
topics: { partitions: 2 }
metrics: { listen: "" }
engine: { instance: one }
governance:
  care: { field: properties.care, deny: [sacred] }
  sovereignty: { header: nation, allow: [osage] }
  lineage: { field: properties.from, required: true }
  escalate_after_attempts: 2
  energy: { watts_per_cpu: 10, grid_grams_per_kwh: 400 }
enrich:
  - { name: place, http: { url: "%s/?id={id}", allow_private: true }, set: { place: /name } }
`)}
}

func (g *governed) send(id, properties, nation string, more ...kgo.RecordHeader) {
	g.t.Helper()
	value := fmt.Sprintf(`{"type":"Feature","id":%q,"geometry":{"type":"Point","coordinates":[1,2]},"properties":%s}`, id, properties)
	r := &kgo.Record{Topic: g.cfg.Source.Topic, Key: []byte(id), Value: []byte(value), Headers: more}
	if nation != "" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "nation", Value: []byte(nation)})
	}
	must.Do(g.t, g.client.ProduceSync(g.t.Context(), r).FirstErr())
}

// run performs one bounded run with a new consumer.
func (g *governed) run() {
	g.t.Helper()
	ctx := testrun.Context(g.t, time.Minute)
	must.Do(g.t, g.consumer().RunUntilEnd(ctx))
}

// read returns the committed records of a topic.
func (g *governed) read(topic string) []*kgo.Record {
	g.t.Helper()
	spans := must.Get(kafka.Spans(g.t.Context(), g.client, topic))(g.t)
	var all []*kgo.Record
	must.Do(g.t, kafka.Scan(g.t.Context(), g.client, topic, spans, func(r *kgo.Record) error {
		all = append(all, r)
		return nil
	}))
	return all
}

func (g *governed) ledger() governance.Document {
	g.t.Helper()
	return must.Get(governance.Read(g.t.Context(), g.client, g.cfg))(g.t)
}

func control(t *testing.T, r *kgo.Record) header.Control {
	t.Helper()
	return must.Get(header.ParseControl(r.Headers))(t)
}

// S3-8: marks survive every hop: the tiers, the DLQ, a replay, the output. A violation is never retried (S3-3), is
// escalated, and is written to a ledger whose chain continues after restarts. Every retry logs the fields of S3-7 and S1-7.
func TestGovernance_S3_8_overEveryHop(t *testing.T) {
	t.Parallel()
	var failures atomic.Int32
	failures.Store(2)
	g := newGoverned(t, func(w http.ResponseWriter, _ *http.Request) {
		if failures.Add(-1) >= 0 {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"name":"Ulm"}`))
	})
	g.send("good", `{"care":["open","attribution"],"from":"survey:1887"}`, "osage")
	g.run()
	out := g.read(g.cfg.Output.Topic)
	must.That(t, len(out) == 1, "%d outputs", len(out))
	c := control(t, out[0])
	expect.That(t, c.Attempt == 3 && c.Care == "open,attribution" && c.Sovereignty == "osage" && c.Lineage == "survey:1887", "after two retries: %+v", c)
	for _, tier := range g.cfg.TierTopics() {
		for _, r := range g.read(tier) {
			c := control(t, r)
			expect.That(t, c.Care == "open,attribution" && c.Sovereignty == "osage" && c.Lineage == "survey:1887", "in %s: %+v", tier, c)
		}
	}
	g.send("sacred", `{"care":"sacred","from":"x"}`, "osage")
	g.send("foreign", `{"from":"x"}`, "kaw")
	g.run() // a new consumer continues the chain
	g.send("origin", `{}`, "osage")
	g.run()
	deadLetters := g.read(g.cfg.Topics.DLQ)
	must.That(t, len(deadLetters) == 3, "%d dead letters", len(deadLetters))
	states := map[string]deadletters.Status{}
	for _, r := range g.read(g.cfg.Topics.DLQStatus) {
		s := must.Get(deadletters.ParseState(r.Value))(t)
		states[s.ID] = s.Status
	}
	for _, r := range deadLetters {
		c := control(t, r)
		expect.That(t, c.ErrorCode == "governance_denied" && c.Attempt == 1 && states[c.DeadLetterID] == deadletters.Escalated, "%s: %+v is %s", r.Key, c, states[c.DeadLetterID])
	}
	g.wantLedger(map[string]governance.Reason{
		"good": governance.ReasonRetries, "sacred": governance.ReasonDenied, "foreign": governance.ReasonDenied, "origin": governance.ReasonDenied,
	})

	// A replay of a forbidden record is forbidden again, and escalated again.
	sacred := deadLetters[0]
	for _, r := range deadLetters {
		if string(r.Key) == "sacred" {
			sacred = r
		}
	}
	c = control(t, sacred)
	replayed := header.Control{
		DeadLetterID: c.DeadLetterID, ReplayID: "r1", ReplayCount: 1, Source: c.Source, HasSource: true, SourceTimestamp: c.SourceTimestamp,
		ContentHash: c.ContentHash, Care: c.Care, Sovereignty: c.Sovereignty, Lineage: c.Lineage,
	}
	again := &kgo.Record{Topic: g.cfg.Source.Topic, Key: sacred.Key, Value: sacred.Value, Headers: replayed.AppendTo(nil)}
	view := must.Get(orders.Read(t.Context(), []kgo.Opt{kgo.SeedBrokers(g.broker.ListenAddrs()...)}, g.cfg.Topics.Control))(t)
	view.Keys[0].Sign(again)
	must.Do(t, g.client.ProduceSync(t.Context(), again).FirstErr())
	g.run()
	n := g.ledger().Entries()
	expect.That(t, n == 5 && audit.Broken(g.ledger().Verify()) == nil, "%d entries after the replay, %v", n, audit.Broken(g.ledger().Verify()))
	status := g.read(g.cfg.Topics.DLQStatus)
	last, err := deadletters.ParseState(status[len(status)-1].Value)
	for _, r := range status {
		if s, _ := deadletters.ParseState(r.Value); s.ReplayID == "r1" {
			last = s
		}
	}
	expect.That(t, err == nil && last.Status == deadletters.Escalated && last.ReprocessCount == 1, "the dead letter is %+v", last)
	g.wantTelemetry()
}

// wantLedger compares the entries and verifies the chain, before and after an entry is modified.
func (g *governed) wantLedger(want map[string]governance.Reason) {
	g.t.Helper()
	ledger := g.ledger()
	if err := audit.Broken(ledger.Verify()); err != nil || ledger.Entries() != len(want) {
		g.t.Errorf("%d entries, %v", ledger.Entries(), err)
	}
	for _, p := range ledger.Partitions {
		for _, e := range p.Entries {
			entry, err := audit.Parse(e.Entry)
			expect.That(g.t, err == nil && entry.Reason == string(want[entry.FeatureID]) && entry.Pipeline == "parcels", "%s: %v", e.Entry, err)
		}
		if len(p.Entries) > 0 {
			p.Entries[0].Entry = bytes.Replace(p.Entries[0].Entry, []byte("parcels"), []byte("plots"), 1)
			err := audit.Broken(ledger.Verify())
			expect.That(g.t, errors.Is(err, audit.ErrBroken), "a changed entry of partition %d: %v", p.Partition, err)
		}
	}
}

// wantTelemetry checks that each retry logs every field of S3-7.
func (g *governed) wantTelemetry() {
	g.t.Helper()
	var retries []map[string]any
	for line := range strings.Lines(g.log.String()) {
		var entry struct {
			FeatureID string         `json:"feature_id"`
			Retry     map[string]any `json:"retry"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err == nil && entry.Retry != nil && entry.FeatureID == "good" {
			retries = append(retries, entry.Retry)
		}
	}
	must.That(g.t, len(retries) == 3, "S3-7: %d retry lines about the feature, want 3: two failures and the success after them", len(retries))
	for i, r := range retries {
		for _, field := range []string{"stage", "attempt", "delay_ms", "error_class", "success", "governance_status", "energy_wh", "co2_g"} {
			_, ok := r[field]
			expect.That(g.t, ok, "S3-7: no %s in %v", field, r)
		}
		status := map[int]string{0: "allowed", 1: "escalated", 2: "allowed"}[i]
		expect.That(g.t, r["attempt"] == float64(i+1) && r["stage"] == "enrich" && r["error_class"] == "retry_backoff" && r["success"] == (i == 2) && r["governance_status"] == status, "S3-7: attempt %d is logged as %v", i+1, r)
	}
}
