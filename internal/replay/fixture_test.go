package replay

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var start = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const (
	square = `{"type":"Feature","id":"%s","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},"properties":{"name":"a"}}`
	bowTie = `{"type":"Feature","id":"%s","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]},"properties":{"name":"a"}}`
)

// world is a broker with the topics of one pipeline.
type world struct {
	t      *testing.T
	broker *kfake.Cluster
	log    *topiclog.Cluster
	writer *kgo.Client
	cfg    *config.Config
	alone  bool // its DLQ belongs to no pipeline
	dead   int  // letters written so far
	plans  int

	followed *Overview // see report
}

func newWorld(t *testing.T, opts ...kfake.Opt) *world {
	t.Helper()
	broker := must.Get(kfake.NewCluster(append([]kfake.Opt{
		kfake.SeedTopics(3, "features", "features.dlq", "features.dlq-status"), kfake.SeedTopics(2, "features.audit"), kfake.SeedTopics(1, "features.control"),
	}, opts...)...))(t)
	t.Cleanup(broker.Close)
	writer := must.Get(kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics()))(t)
	t.Cleanup(writer.Close)
	return &world{
		t: t, broker: broker, writer: writer, cfg: configure(t, broker.ListenAddrs()),
		log: topiclog.Connect(t, broker.ListenAddrs()),
	}
}

// parallel is newWorld for a test that runs beside others.
func parallel(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorld(t)
}

func configure(t *testing.T, brokers []string, more ...string) *config.Config {
	t.Helper()
	text := fmt.Sprintf(`
pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
%s`, strings.Join(brokers, ", "), strings.Join(more, "\n"))
	return must.Get(config.Parse("pipeline.yaml", []byte(text), func(string) string { return "" }))(t)
}

// inBatch is how many letters one transaction has in these tests.
const inBatch = 100

func (w *world) service(opts ...kgo.Opt) *Service {
	w.t.Helper()
	opts = append(opts, kgo.DisableClientMetrics(), kgo.RequestTimeoutOverhead(testrun.Patient(20*time.Second))) // a frozen EndTxn is not sent again
	s := must.Get(New(w.cfg, Options{Now: func() time.Time { return start }, KafkaOpts: opts, Alone: w.alone, Index: inMemory()}))(w.t)
	s.jobs.Life, s.jobs.Renewal, s.jobs.LastWrite = testrun.Patient(10*time.Second), 50*time.Millisecond, testrun.Patient(10*time.Second)
	s.writing.Timeout, s.batchLetters = testrun.Patient(20*time.Second), inBatch
	w.t.Cleanup(s.Close)
	return s
}

// inMemory is an index of its own for each service.
func inMemory() dlqindex.Options { return dlqindex.Options{Place: dlqindex.InMemory} }

// ana is a call of the operator of most tests.
func ana(reason string) operation.Call { return operation.Call{By: "ana", Reason: reason} }

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), testrun.Patient(time.Minute))
	w.t.Cleanup(cancel)
	return ctx
}

// letter is a dead letter as the consumer writes it.
func letter(partition int32, id, value string) *kgo.Record {
	r := &kgo.Record{
		Topic: "features.dlq", Partition: partition, Key: []byte("key of " + id), Value: []byte(value),
		Timestamp: start.Add(-time.Hour),
	}
	r.Headers = controlOf(partition, id, value).AppendTo([]kgo.RecordHeader{
		{Key: "traceparent", Value: []byte("00-1")}, {Key: "tag", Value: []byte("one")}, {Key: "tag", Value: []byte("two")},
	})
	return r
}

// again is a letter of the same content and key as another one, first read at another offset of the same partition.
func again(of *kgo.Record, id string, source int64) *kgo.Record {
	c := controlOf(of.Partition, id, string(of.Value))
	c.Source.Offset = source
	r := letter(of.Partition, id, string(of.Value))
	r.Key, r.Headers = of.Key, c.AppendTo(nil)
	return r
}

func controlOf(partition int32, id, value string) header.Control {
	return header.Control{
		Attempt: 1, MaxAttempts: 5, FirstFailedAt: start.Add(-time.Hour), FailedAt: start.Add(-time.Hour),
		SourceTimestamp: start.Add(-2 * time.Hour), ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate",
		ErrorMessage: "feature " + id + "1: ring 3 crosses itself", Source: header.Position{Topic: "features", Partition: partition, Offset: 40},
		HasSource: true, ContentHash: idempotency.Of([]byte(value)).String(), FeatureID: id, BBox: "0,0,2,2",
		RunID: "run-1", Pipeline: "features", DeadLetterID: id, Lineage: "stac:1", Care: "C1", Sovereignty: "S1",
	}
}

// die writes records where they say, to the DLQ or the status topic.
func (w *world) die(records ...*kgo.Record) {
	w.t.Helper()
	must.Do(w.t, w.writer.ProduceSync(w.ctx(), records...).FirstErr())
	w.dead += len(records)
}

// dieMany writes n valid features with different contents over all partitions.
func (w *world) dieMany(n int) {
	w.t.Helper()
	var records []*kgo.Record
	for i := range n {
		id := fmt.Sprintf("letter-%d", w.dead+i)
		records = append(records, letter(int32(i%3), id, fmt.Sprintf(square, id)))
	}
	w.die(records...)
}

func (w *world) read(topic string) []*kgo.Record {
	w.t.Helper()
	return must.Get(w.log.Read(w.ctx(), topic))(w.t)
}

// source is the topic that dead letters go back to.
func (w *world) source() string {
	if w.alone {
		return "payments"
	}
	return "features"
}

// sent counts how often each letter stands in the source topic, for a reader with read_committed.
func (w *world) sent() map[string]int {
	w.t.Helper()
	n := map[string]int{}
	for _, r := range w.read(w.source()) {
		id, _ := topiclog.Header(r, header.KeyDeadLetterID)
		id, _, _ = strings.Cut(id, "@") // of the DLQ
		n[id]++
	}
	return n
}

// sentOnce fails unless exactly the given letters stand in the source topic, each once.
func (w *world) sentOnce(ids ...string) {
	w.t.Helper()
	sent := w.sent()
	for _, id := range ids {
		expect.That(w.t, sent[id] == 1, "dead letter %s was put back %d times, want once", id, sent[id])
	}
	expect.That(w.t, len(sent) == len(ids), "%d dead letters were put back, want %d: %v", len(sent), len(ids), sent)
}

// states gives the last state of each letter.
func (w *world) states() map[string]deadletters.State {
	w.t.Helper()
	out := map[string]deadletters.State{}
	for _, r := range w.read(w.cfg.Topics.DLQStatus) {
		if deadletters.IsChainHead(r.Key) {
			continue
		}
		if r.Value == nil {
			delete(out, string(r.Key))
			continue
		}
		s := must.Get(deadletters.ParseState(r.Value))(w.t)
		out[s.ID] = s
	}
	return out
}

// events are the audit events about letters, without their links, which hang on what came before.
func (w *world) events() []audit.Event {
	return slices.DeleteFunc(w.trail(), func(e audit.Event) bool { return e.Decision == audit.Operation })
}

// operations are the events with which operations began.
func (w *world) operations() []audit.Event {
	return slices.DeleteFunc(w.trail(), func(e audit.Event) bool { return e.Decision != audit.Operation })
}

func (w *world) trail() []audit.Event {
	w.t.Helper()
	var out []audit.Event
	for _, r := range w.read(w.cfg.Topics.Audit) {
		e := must.Get(audit.Parse(r.Value))(w.t)
		expect.That(w.t, e.Place.Seq >= 1, "an event of an operator without a place in the chain: %s", r.Value)
		e.Place = audit.Place{}
		out = append(out, e)
	}
	return out
}

// plan makes a plan; the plans of a world are r1, r2 and so on.
func (w *world) plan(s *Service, f deadletters.Filter) *plan.Plan {
	w.t.Helper()
	w.plans++
	return w.planWith(s, f, PlanOptions{By: "ana", ID: fmt.Sprintf("r%d", w.plans)})
}

func (w *world) planWith(s *Service, f deadletters.Filter, o PlanOptions) *plan.Plan {
	w.t.Helper()
	p := must.Get(s.Plan(w.ctx(), f, o))(w.t)
	w.t.Cleanup(func() { _ = p.Close() })
	return p
}

// planned makes a service and its plan of all pending letters.
func (w *world) planned() (*Service, *plan.Plan) {
	w.t.Helper()
	s := w.service()
	return s, w.plan(s, deadletters.Filter{})
}

func (w *world) execute(s *Service, p *plan.Plan) Result {
	w.t.Helper()
	return must.Get(s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("fixed")}))(w.t)
}

// letters of a plan, all of them.
func (w *world) letters(p *plan.Plan) []plan.Line {
	w.t.Helper()
	var out []plan.Line
	for l, err := range p.All() {
		must.Do(w.t, err)
		out = append(out, *l)
	}
	return out
}

// altered makes a plan like another one, with its letters changed.
func (w *world) altered(p *plan.Plan, change func(*plan.Line)) *plan.Plan {
	w.t.Helper()
	out := must.Get(plan.Scratch(p.Head, func(pw *plan.Writer) error {
		for l, err := range p.All() {
			must.Do(w.t, err)
			change(l)
			must.Do(w.t, pw.Add(l))
		}
		return nil
	}))(w.t)
	w.t.Cleanup(func() { _ = out.Close() })
	return out
}

// together is the least number of tests that run at a time. Most tests wait for brokers, so they need few processors.
const together = 16

func TestMain(m *testing.M) {
	testrun.Together(together)
	os.Exit(m.Run())
}
