package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestMain(m *testing.M) {
	testrun.Together(4) // they wait for brokers and browsers
	m.Run()
}

var start = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const bowTie = `{"type":"Feature","id":"P-1","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]},"properties":{}}`

// desk is a console over a broker with dead letters.
type desk struct {
	t       *testing.T
	broker  *kfake.Cluster
	writer  *kgo.Client
	index   string // file
	source  string // coordinate reference system; empty is the default
	repairs string // geometry.validity; empty is reject
	now     time.Time
	console *Console
	changes *Changes            // nil is read-only
	metrics []string            // of instances
	begin   func() *access.Gate // as each start of the command does
	gate    *access.Gate
	stop    func() // ends the console, like the end of the command
}

// newDesk starts a broker with records, and a console with a fixed clock, for a parallel test. Every request
// refreshes the index.
func newDesk(t *testing.T, records ...*kgo.Record) *desk {
	t.Helper()
	return newDeskOf(t, nil, records...)
}

// newDeskOf is newDesk whose pages may change dead letters.
func newDeskOf(t *testing.T, changes *Changes, records ...*kgo.Record) *desk {
	t.Helper()
	t.Parallel()
	broker := fakekafka.Start(t, kfake.SeedTopics(2, "features", "features.out", "features.dlq", "features.dlq-status", "features.audit"), kfake.SeedTopics(1, "features.control"))
	d := &desk{changes: changes, begin: func() *access.Gate { return access.Loopback("anna") }, t: t, broker: broker, writer: fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner())), now: start, index: filepath.Join(t.TempDir(), "index.sqlite")}
	d.put(records...)
	d.open()
	return d
}

// open makes a console, as a start of the command does.
func (d *desk) open() {
	d.t.Helper()
	ctx, cfg := d.t.Context(), d.configure()
	now := func() time.Time { return d.now }
	letters := must.Get(dlq.Open(ctx, cfg, dlq.Options{Background: true, Options: replay.Options{Index: dlqindex.Options{Place: d.index}, Now: now}}))(d.t)
	d.gate = d.begin()
	d.console = must.Get(New(ctx, Options{DeadLetters: letters, Replays: letters.Replays(), Changes: d.changes, Access: d.gate, Metrics: d.metrics, Now: now, Explain: Explain}))(d.t)
	d.console.index.rest, d.console.index.patience = 0, answerTimeout // no test depends on the speed of a machine
	if d.console.pipeline != nil {
		d.console.pipeline.rest = 0
	}
	d.stop = sync.OnceFunc(func() {
		d.console.Close()
		letters.Close()
	})
	d.t.Cleanup(d.stop)
}

func (d *desk) configure() *config.Config {
	d.t.Helper()
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(d.pipelineFile()), func(string) string { return "" }))(d.t)
	return cfg
}

func (d *desk) pipelineFile() string {
	return fmt.Sprintf(`
pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
metrics: { listen: "" }
source: { topic: features, group: features }
output: { topic: features.out }
transform: { geometry: { source_crs: "%s", validity: %s } }
`, strings.Join(d.broker.ListenAddrs(), ", "), cmp.Or(d.source, "EPSG:4326"), cmp.Or(d.repairs, "reject"))
}

func (d *desk) put(records ...*kgo.Record) {
	d.t.Helper()
	must.Do(d.t, d.writer.ProduceSync(d.t.Context(), records...).FirstErr())
}

// letter is a dead letter as the consumer writes it, which died some seconds after the first.
func letter(id string, seconds int, change ...func(*header.Control)) *kgo.Record {
	at := start.Add(-time.Hour).Add(time.Duration(seconds) * time.Second)
	c := header.Control{
		Attempt: 1, MaxAttempts: 5, FailedAt: at, SourceTimestamp: at, ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate",
		ErrorMessage: "ring 3 crosses itself", Source: header.Position{Topic: "features", Offset: int64(seconds)}, HasSource: true,
		ContentHash: idempotency.Of([]byte(bowTie)).String(), FeatureID: "P-" + id, BBox: "0,0,2,2", Pipeline: "features", DeadLetterID: id,
	}
	for _, f := range change {
		f(&c)
	}
	return &kgo.Record{Topic: "features.dlq", Key: []byte(id), Value: []byte(bowTie), Timestamp: at, Headers: c.AppendTo(nil)}
}

// replaying is the state of a dead letter that was put back.
func replaying(id, replayID string) *kgo.Record {
	return deadletters.State{ID: id, Status: deadletters.Replaying, ReplayID: replayID, At: start, By: "anna"}.Record("features.dlq-status", 0)
}

// reprocessed is the state of a dead letter that the consumer has delivered.
func reprocessed(id, replayID string) *kgo.Record {
	return deadletters.State{ID: id, Status: deadletters.Reprocessed, ReplayID: replayID, At: start, By: "consumer"}.Record("features.dlq-status", 0)
}

// event is an audit event of an operator.
func event(letter, operation string, seconds int) *kgo.Record {
	e := audit.Event{Time: start.Add(time.Duration(seconds) * time.Second), Pipeline: "features", RunID: operation, Source: "features/0/1", Decision: audit.StateChanged, DeadLetter: letter, By: "anna", Reason: "gone for good"}
	r, err := e.Record("features.audit", 0)
	if err != nil {
		panic(err)
	}
	r.Timestamp = e.Time
	return r
}

// get requests a path like a client on this machine.
func (d *desk) get(path string) *httptest.ResponseRecorder { return d.ask(request(path)) }

func request(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Host = "127.0.0.1:8480"
	return r
}

func (d *desk) ask(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.console.Handler().ServeHTTP(w, r.WithContext(d.t.Context()))
	return w
}

// read decodes the answer to a request that must succeed.
func read[T any](d *desk, path string) T {
	d.t.Helper()
	var out T
	w := d.get(path)
	err := json.Unmarshal(w.Body.Bytes(), &out)
	must.That(d.t, w.Code == http.StatusOK && err == nil, "GET %s: %d %s (%v)", path, w.Code, w.Body, err)
	return out
}

// says expects an answer with a status and texts.
func says(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	expect.That(t, w.Code == status, "%d, want %d: %s", w.Code, status, w.Body)
	for _, want := range texts {
		expect.That(t, strings.Contains(w.Body.String(), want), "no %s in %s", want, w.Body)
	}
}

// refused decodes the answer to a request that must fail with a status.
func (d *desk) refused(w *httptest.ResponseRecorder, status int) ErrorBody {
	d.t.Helper()
	var out ErrorAnswer
	err := json.Unmarshal(w.Body.Bytes(), &out)
	must.That(d.t, w.Code == status && err == nil && out.Error.Message != "" && out.Error.Code != "", "%d, want %d: %s (%v)", w.Code, status, w.Body, err)
	return out.Error
}
