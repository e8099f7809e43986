package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// settings are the keys of a pipeline file that tests vary.
type settings struct {
	ID, Places      string
	Brokers         []string
	Kafka           string // further keys of kafka
	Transform       string // further keys of transform
	Metrics         string
	ReplayKey       string // in the environment of the commands; if empty, the key is in the control topic
	MaxAttempts     int
	Tiers           []time.Duration
	Partitions      int
	Replicas        int    // of each topic
	Shutdown        string // engine.shutdown_timeout
	RetryAfterLimit string
	Static          bool   // engine.static
	Session         string // session timeout: how long a killed consumer keeps its partitions
	Timeout         string // of one request for a place name
	Ordering        string
	Dedupe          string // window
	Source, More    string // further keys of source, and of the file
	Tolerance       string // the keys of pipeline.tolerance, as a flow mapping
	SinkKey         string // sink.key, if there is a table
}

var pipelineFile = template.Must(template.New("pipeline").Funcs(template.FuncMap{"join": strings.Join}).Parse(`pipeline:
  id: {{.ID}}
  retry_policy:
    max_attempts: {{.MaxAttempts}}
    base_delay_seconds: {{.Base}}
    retryable_status_codes: [429, 502, 503, 504]
    jitter: false
    retry_after_limit: {{.RetryAfterLimit}}
    tiers: [{{range $i, $d := .Tiers}}{{if $i}}, {{end}}{{$d}}{{end}}]
  tolerance: { {{.Tolerance}} }
kafka:
  brokers: [{{join .Brokers ", "}}]
  {{.Kafka}}
source:
  topic: {{.ID}}
  group: {{.ID}}
  {{.Source}}
{{.More -}}
topics: { partitions: {{.Partitions}}, replication_factor: {{.Replicas}} }
ordering: { mode: {{.Ordering}} }
dedupe: { window: {{.Dedupe}} }
audit: all
engine: { session_timeout: {{.Session}}, static: {{.Static}}{{with .Shutdown}}, shutdown_timeout: {{.}}{{end}} }
transform:
  unmapped: drop
  fields:
    - { from: id, to: id, type: string, required: true }
    - { from: level, to: level, type: integer }
  {{.Transform}}
enrich:
  - name: place
    http: { url: "{{.Places}}/place?id={properties.id}", timeout: {{.Timeout}}, allow_private: true, retry_after: record }
    set: { place_name: /name }
metrics: { listen: "{{.Metrics}}" }
`))

// pipe is the pipeline of one test, with its own topics, group, file and service for place names.
type pipe struct {
	t           *testing.T
	ctx         context.Context
	environment *environment
	log         *topiclog.Cluster
	places      *misbehave.Server
	topics      conservation.Pipeline
	statusTopic string // topic of the dead letters' states
	set         settings
	file        string
}

// newPipe writes the pipeline file. The bound is the longest time that the test takes on an idle machine, and only ends
// tests that hang.
func newPipe(t *testing.T, bound time.Duration, change ...func(*settings)) *pipe {
	t.Helper()
	return newPipeOn(t, sharedEnvironment(t).kafka.Addrs, bound, change...)
}

// newPipeOn is newPipe on other brokers than the shared ones.
func newPipeOn(t *testing.T, brokers []string, bound time.Duration, change ...func(*settings)) *pipe {
	t.Helper()
	w := sharedEnvironment(t) // not within the bound, because building the commands may take long
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(bound))
	t.Cleanup(cancel)
	p := &pipe{t: t, ctx: ctx, environment: w, log: topiclog.Connect(t, brokers), places: misbehave.New(t)}
	p.set = settings{
		ID: topiclog.Unique("it"), Places: p.places.URL(), Brokers: brokers, MaxAttempts: 5, Partitions: 3, Replicas: 1,
		Tiers:           []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second},
		RetryAfterLimit: "1h", Session: "30s", Timeout: "30s", Ordering: "latest_wins", Dedupe: "24h",
		Tolerance: tolerant,
	}
	for _, c := range change {
		c(&p.set)
	}
	id := p.set.ID
	p.topics = conservation.Pipeline{Source: id, Output: id + ".out", DLQ: id + ".dlq", Audit: id + ".audit", Group: id}
	for _, d := range p.set.Tiers {
		p.topics.Tiers = append(p.topics.Tiers, id+".retry-"+d.String())
	}
	p.statusTopic = id + ".dlq-status"
	p.write()
	return p
}

// tolerant disables all error thresholds. Tests of the thresholds override it.
const tolerant = "max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 1, max_dead_letter_rate: 1"

// Base returns base_delay_seconds, the delay of the first tier.
func (s settings) Base() float64 { return s.Tiers[0].Seconds() }

// shortSession sets the shortest session timeout that brokers allow.
func shortSession(s *settings) { s.Session = "6s" }

// tiers sets the delays of the tiers.
func tiers(delays ...time.Duration) func(*settings) {
	return func(s *settings) { s.Tiers = delays }
}

func (p *pipe) write() {
	p.t.Helper()
	var text bytes.Buffer
	must.Do(p.t, pipelineFile.Execute(&text, p.set))
	p.file = filepath.Join(p.t.TempDir(), "pipeline.yaml")
	must.Do(p.t, os.WriteFile(p.file, text.Bytes(), 0o644))
}

// ensure creates the source topic, as the producer's owner does, and then runs `topics ensure` for all others.
func (p *pipe) ensure() *pipe {
	p.t.Helper()
	settings := map[string]string{"max.message.bytes": fmt.Sprint(12 << 20)}
	must.Do(p.t, p.log.Create(p.ctx, p.topics.Source, int32(p.set.Partitions), settings))
	p.runConsumer("topics", "ensure")
	return p
}

func (p *pipe) spec(command string, args ...string) proc.Spec {
	// The pipeline's index of dead letters is separate from the index of the machine's user.
	index := "SWITCHBACK_REPLAYER_INDEX_FILE=" + filepath.Join(filepath.Dir(p.file), "dead-letters.sqlite")
	return proc.Spec{Path: p.environment.commands[command], Args: args, Dir: p.t.TempDir(), Env: []string{index, proof.Variable + "=" + p.set.ReplayKey}}
}

// run runs a command to its end.
func (p *pipe) run(command string, args ...string) proc.Result {
	p.t.Helper()
	return proc.Run(p.ctx, p.t, p.spec(command, args...))
}

// start starts a consumer under its own instance name.
func (p *pipe) start(instance string, args ...string) *proc.Process {
	p.t.Helper()
	spec := p.spec("consumer", append([]string{"run", "-c", p.file}, args...)...)
	spec.Env = append(spec.Env, "SWITCHBACK_ENGINE_INSTANCE="+instance)
	return proc.Start(p.t, spec)
}

// drain runs the consumer to the end of the topics and returns its summary.
func (p *pipe) drain() summary {
	p.t.Helper()
	r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, p.t)
	must.That(p.t, r.Code == 0, "consumer run --until-end: %s", r)
	return readSummary(p.t, r.Stdout)
}

// feature is a GeoJSON point. Its odd spacing reveals bytes that were not preserved.
func feature(id string) string { return featureAt(id, 3) }

// featureAt is another version of the same feature.
func featureAt(id string, level int) string {
	return fmt.Sprintf(`{ "type":"Feature",  "id":%q, "properties":{"level": %d,"id":%q }, "geometry":{"coordinates":[11.50, 48.1],"type":"Point"}}`, id, level, id)
}

// ids returns n names of features.
func ids(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return out
}

// send produces features, each keyed by its ID, with the headers of a producer.
func (p *pipe) send(ids ...string) []*kgo.Record {
	p.t.Helper()
	return p.sendRecords(p.records(ids...)...)
}

// records returns the records that send produces.
func (p *pipe) records(ids ...string) []*kgo.Record {
	records := make([]*kgo.Record, len(ids))
	for i, id := range ids {
		records[i] = &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(feature(id)), Headers: []kgo.RecordHeader{
			{Key: "ce_id", Value: []byte("event-" + id)}, {Key: "traceparent", Value: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")},
		}}
	}
	return records
}

func (p *pipe) sendRecords(records ...*kgo.Record) []*kgo.Record {
	p.t.Helper()
	must.Do(p.t, p.log.Produce(p.ctx, records...))
	return records
}

// read returns the records of one topic.
func (p *pipe) read(topic string) []*kgo.Record {
	p.t.Helper()
	return must.Get(p.log.Read(p.ctx, topic))(p.t)
}

// verify checks conservation over the topics, and that `consumer verify records` finds no violation either.
func (p *pipe) verify(seen ...*kgo.Record) *conservation.Account {
	p.t.Helper()
	account := must.Get(conservation.Take(p.ctx, p.log, p.topics, seen...))(p.t)
	account.Verify(p.t)
	p.runConsumer("verify", "records")
	return account
}

// wantTotals compares the counts in the topics with the expected ones.
func wantTotals(t *testing.T, account *conservation.Account, inputs int, want conservation.Place) {
	t.Helper()
	n, sum := account.Totals()
	expect.That(t, n == inputs && sum == want, "%d inputs in %+v, want %d in %+v", n, sum, inputs, want)
}

// summary is the JSON object that every run can end with (architecture, section 9).
type summary map[string]any

func readSummary(t *testing.T, text string) summary {
	t.Helper()
	var s summary
	must.Do(t, json.Unmarshal([]byte(text), &s))
	for _, key := range []string{"run_id", "pipeline", "status", "consumed", "delivered", "retried", "dead_lettered", "duplicates",
		"superseded", "filtered", "waiting", "dlq_rate", "checkpoint", "duration_seconds"} {
		_, ok := s[key]
		expect.That(t, ok, "the summary has no %q: %v", key, slices.Sorted(maps.Keys(s)))
	}
	return s
}

func (s summary) number(t *testing.T, key string) int {
	t.Helper()
	n, ok := s[key].(float64)
	must.That(t, ok, "summary: %s is %v, want a number", key, s[key])
	return int(n)
}

// wantBalanced checks that the summary's counts add up to the consumed records. This holds only for runs that start
// without waiting records.
func (s summary) wantBalanced(t *testing.T) summary {
	t.Helper()
	sum := 0
	for _, key := range []string{"delivered", "dead_lettered", "duplicates", "superseded", "filtered", "waiting"} {
		sum += s.number(t, key)
	}
	expect.Equal(t, s.number(t, "consumed"), sum, "records in the places of the summary", s)
	return s
}

// environment has the resources that the tests share: one broker and one build of the commands. The first test that
// needs it creates it. TestMain must not: `go test` tracks the files and variables on which a result depends only
// while tests run, and would otherwise reuse cached results of another broker or of older commands.
type environment struct {
	kafka    *broker.Broker
	commands proc.Binaries
	dir      string
}

var shared struct {
	sync.Once
	environment
	err error
}

// parallelTests is the minimum number of tests that run in parallel. Tests spend most of their time waiting for
// processes that pause, wait for tiers or hold leases.
const parallelTests = 8

func TestMain(m *testing.M) {
	testrun.Together(parallelTests)
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// sharedEnvironment returns the shared resources of the tests, and fails the test if they are unavailable.
func sharedEnvironment(t *testing.T) *environment {
	t.Helper()
	shared.Do(func() {
		if shared.err = shared.begin(); shared.err == nil {
			fmt.Println(shared.kafka)
		}
	})
	must.That(t, shared.err == nil, "%v", shared.err)
	return &shared.environment
}

func (w *environment) begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patient(10*time.Minute)) // the first run may download Kafka
	defer cancel()
	if w.dir, err = os.MkdirTemp("", "switchback-commands-"); err != nil {
		return err
	}
	if w.commands, err = proc.Build(ctx, w.dir, "consumer", "replayer"); err != nil {
		return fmt.Errorf("build the commands: %w", err)
	}
	if w.kafka, err = broker.Start(ctx); err != nil {
		return fmt.Errorf("get a broker: %w", err)
	}
	return nil
}

func (w *environment) end() error {
	var closed error
	if w.kafka != nil {
		closed = w.kafka.Close()
	}
	return errors.Join(closed, os.RemoveAll(w.dir))
}

// parallel marks a test with its tier, makes it parallel, and checks its needs.
func parallel(t *testing.T, tier func(testing.TB), needs ...func(*testing.T)) {
	t.Helper()
	tier(t)
	t.Parallel()
	for _, need := range needs {
		need(t)
	}
}
