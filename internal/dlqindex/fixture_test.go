package dlqindex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

var at = time.Date(2026, 11, 3, 4, 5, 6, 7e6, time.UTC)

var source = Source{DLQ: "dlq", Status: "status"}

// server is the PostgreSQL of all tests, or why there is none.
var server *postgis.Server
var noServer error

// together is the least number of tests that run at a time. Most tests wait for a broker or a server.
const together = 6

func TestMain(m *testing.M) {
	testrun.Together(together)
	os.Exit(withServer(m))
}

func withServer(m *testing.M) int {
	if server, noServer = postgis.Start(context.Background()); noServer == nil {
		defer func() { _ = server.Close() }()
	}
	return m.Run()
}

// places gives a fresh place for each engine, and skips PostgreSQL where there is none.
func onEngines(t *testing.T, test func(t *testing.T, place string)) {
	t.Helper()
	t.Run(string(SQLite), func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "a folder", "i?x#.sqlite"))
	})
	t.Run(string(PostgreSQL), func(t *testing.T) {
		t.Parallel()
		postgis.OrSkip(t, noServer)
		test(t, server.Database(t))
	})
}

// world is a broker with a DLQ and its status topic, and an index.
type world struct {
	t       *testing.T
	brokers []string
	cl      *kgo.Client
	admin   *kadm.Client
	index   *Index
	cluster string
	sent    int
	died    map[string]bool // ids of letters so far
}

func newWorld(t *testing.T, place string) *world {
	t.Helper()
	broker := must.Get(kfake.NewCluster(kfake.SeedTopics(3, "dlq", "status")))(t)
	t.Cleanup(broker.Close)
	w := &world{t: t, brokers: broker.ListenAddrs(), died: map[string]bool{}}
	w.cl = w.connect()
	w.admin = kadm.NewClient(w.cl)
	meta := must.Get(w.admin.BrokerMetadata(t.Context()))(t)
	w.cluster = meta.Cluster
	w.index = w.open(place)
	return w
}

func (w *world) connect() *kgo.Client {
	w.t.Helper()
	cl := must.Get(kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner())))(w.t)
	w.t.Cleanup(cl.Close)
	return cl
}

func (w *world) open(place string) *Index {
	w.t.Helper()
	x := w.in(must.Get(open(w.t.Context(), place))(w.t))
	w.t.Cleanup(func() {
		expect.Do(w.t, x.Close())
	})
	return x
}

// in is the index in a database. Nothing that was resolved is deleted.
func (w *world) in(db *database) *Index {
	return &Index{database: db, client: w.cl, source: source, cluster: w.cluster, options: Options{Now: func() time.Time { return time.Time{} }}}
}

func (w *world) put(records ...*kgo.Record) {
	w.t.Helper()
	must.Do(w.t, w.cl.ProduceSync(w.t.Context(), records...).FirstErr())
}

func (w *world) sync() Synced {
	w.t.Helper()
	return must.Get(w.index.Sync(w.t.Context()))(w.t)
}

// sound fails unless the index agrees with the topics.
func (w *world) sound() {
	w.t.Helper()
	found := must.Get(w.index.Check(w.t.Context()))(w.t)
	expect.That(w.t, found.Total <= 0, "%d faults: %q", found.Total, found.Faults)
}

func (w *world) dlq() *DLQ {
	w.t.Helper()
	return must.Get(w.index.DLQ(w.t.Context()))(w.t)
}

func (w *world) letters(q Query) []deadletters.Letter {
	w.t.Helper()
	var out []deadletters.Letter
	must.Do(w.t, w.dlq().Letters(w.t.Context(), q, func(l deadletters.Letter) error {
		out = append(out, l)
		return nil
	}))
	return out
}

func (w *world) letter(id string) deadletters.Letter {
	w.t.Helper()
	l, _, err := w.dlq().Letter(w.t.Context(), id)
	must.That(w.t, err == nil, "%v", err)
	return l
}

func (w *world) absent(id string) {
	w.t.Helper()
	_, _, err := w.dlq().Letter(w.t.Context(), id)
	expect.That(w.t, errors.Is(err, ErrNoLetter), "dead letter %s: %v, want none", id, err)
}

// cut removes the records of a partition before an offset, as retention does.
func (w *world) cut(partition int32, before int64) {
	w.t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset("dlq", partition, before, -1)
	must.Get(w.admin.DeleteRecords(w.t.Context(), offsets))(w.t)
}

// dead is a letter; each has its own time, a minute after the one before.
func (w *world) dead(partition int32, id string, change func(*header.Control)) *kgo.Record {
	value := fmt.Sprintf(`{"type":"Feature","id":"F %s","properties":{"area":%d}}`, id, w.sent)
	c := header.Control{
		Attempt: 2, MaxAttempts: 5, SourceTimestamp: at.Add(-time.Hour), ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate",
		ErrorMessage: "ring 3 of " + id + "1 crosses itself", Source: header.Position{Topic: "features", Partition: partition, Offset: int64(w.sent)},
		HasSource: true, FeatureID: "F " + id, BBox: "9.5,47,9.6,47.2", RunID: "run-1", Pipeline: "parcels", DeadLetterID: id,
		ContentHash: idempotency.Of([]byte(value)).String(),
	}
	if change != nil {
		change(&c)
	}
	w.sent++
	return &kgo.Record{
		Topic: "dlq", Partition: partition, Key: []byte("key " + id), Value: []byte(value), Timestamp: at.Add(time.Duration(w.sent) * time.Minute),
		Headers: c.AppendTo([]kgo.RecordHeader{{Key: "tag", Value: []byte("one")}, {Key: "tag", Value: []byte("two \"quoted\"")}}),
	}
}

// state is one that an operator gave a letter, in view of a record that is not there.
func state(partition int32, id string, status deadletters.Status, count int) *kgo.Record {
	return deadletters.State{
		DLQ: header.Position{Topic: "dlq", Partition: partition, Offset: 1 << 40},
		ID:  id, Status: status, ReprocessCount: count, Reason: "because of " + id, By: "ana", ReplayID: "r1", At: at.Add(time.Duration(count+1) * time.Hour),
	}.Record("status", partition)
}

// outcome is what the consumer made of the replay r1.
func outcome(partition int32, id string, status deadletters.Status, count int) *kgo.Record {
	return deadletters.State{
		ID: id, Status: status, ReprocessCount: count, Reason: "because of " + id, By: "consumer", ReplayID: "r1", At: at.Add(time.Duration(count+1) * time.Hour),
	}.Record("status", partition)
}

// decided is a state that an operator gave a letter in view of one of its records.
func decided(partition int32, id string, status deadletters.Status, offset int64) *kgo.Record {
	return deadletters.State{
		ID: id, Status: status, Reason: "because", By: "bo", ReplayID: "r1", At: at.Add(time.Hour),
		DLQ: header.Position{Topic: "dlq", Partition: partition, Offset: offset},
	}.Record("status", partition)
}

// theirs is a letter on which Spring Kafka failed again after a replay.
func (w *world) theirs(partition int32, id, replayID string, replays int) *kgo.Record {
	w.sent++
	c := header.Control{DeadLetterID: id, ReplayID: replayID, ReplayCount: replays, ContentHash: idempotency.Of([]byte(id)).String()}
	return &kgo.Record{
		Topic: "dlq", Partition: partition, Key: []byte("key " + id), Value: []byte(`{}`), Timestamp: at.Add(time.Duration(w.sent) * time.Minute),
		Headers: c.AppendTo([]kgo.RecordHeader{
			{Key: "kafka_dlt-original-topic", Value: []byte("features")},
			{Key: "kafka_dlt-original-partition", Value: []byte{0, 0, 0, byte(partition)}}, {Key: "kafka_dlt-original-offset", Value: make([]byte, 8)},
			{Key: "kafka_dlt-exception-fqcn", Value: []byte("java.lang.IllegalStateException")},
		}),
	}
}

func tombstone(partition int32, id string) *kgo.Record {
	return &kgo.Record{Topic: "status", Partition: partition, Key: []byte(id)}
}
