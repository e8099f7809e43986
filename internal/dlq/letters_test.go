package dlq

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var start = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const (
	square = `{"type":"Feature","id":"a","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},"properties":{"name":"a"}}`
	bowTie = `{"type":"Feature","id":"a","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]},"properties":{"name":"a"}}`
)

// open gives a service over a broker with the given records, and an index in a file of its own.
func open(t *testing.T, records ...*kgo.Record) *Service {
	t.Helper()
	broker := fakekafka.Start(t, kfake.SeedTopics(3, "features", "features.dlq", "features.dlq-status", "features.audit"))
	writer := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must.Do(t, writer.ProduceSync(t.Context(), records...).FirstErr())
	return openDLQ(t, configure(t, broker.ListenAddrs()))
}

func openDLQ(t *testing.T, cfg *config.Config) *Service {
	t.Helper()
	s := must.Get(Open(t.Context(), cfg, Options{
		Index: dlqindex.Options{Place: filepath.Join(t.TempDir(), "index.sqlite")}, Now: func() time.Time { return start },
	}))(t)
	t.Cleanup(s.Close)
	return s
}

func put(t *testing.T, s *Service, records ...*kgo.Record) {
	t.Helper()
	writer := must.Get(kgo.NewClient(kgo.SeedBrokers(s.cfg.Kafka.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner())))(t)
	defer writer.Close()
	must.Do(t, writer.ProduceSync(t.Context(), records...).FirstErr())
}

// cut removes the records of a partition of the DLQ before an offset.
func cut(t *testing.T, s *Service, partition int32, before int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(s.source.DLQ, partition, before, -1)
	must.Get(s.admin.DeleteRecords(t.Context(), offsets))(t)
}

// listed are the ids of the letters that are there, or gone.
func listed(t *testing.T, s *Service, gone bool) []string {
	t.Helper()
	var out []string
	must.Do(t, s.Letters(t.Context(), dlqindex.Query{Gone: gone}, func(l deadletters.Letter) error {
		out = append(out, l.ID)
		return nil
	}))
	slices.Sort(out)
	return out
}

func configure(t *testing.T, brokers []string) *config.Config {
	t.Helper()
	text := fmt.Sprintf(`
pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
`, strings.Join(brokers, ", "))
	return must.Get(config.Parse("pipeline.yaml", []byte(text), func(string) string { return "" }))(t)
}

// letter is a dead letter as the consumer writes it. Later ones of a partition died later.
func letter(partition int32, id, value string) *kgo.Record {
	c := header.Control{
		Attempt: 1, MaxAttempts: 5, FailedAt: start.Add(-time.Hour), SourceTimestamp: start.Add(-2 * time.Hour),
		ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate", ErrorMessage: "ring 3 crosses itself",
		Source: header.Position{Topic: "features", Partition: partition, Offset: 40}, HasSource: true,
		ContentHash: idempotency.Of([]byte(value)).String(), FeatureID: id, Pipeline: "features", DeadLetterID: id,
	}
	return &kgo.Record{
		Topic: "features.dlq", Partition: partition, Key: []byte("key of " + id), Value: []byte(value), Timestamp: start.Add(-time.Hour),
		Headers: c.AppendTo([]kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}),
	}
}

func TestShow_gives_headers_bytes_and_the_decoded_feature(t *testing.T) {
	s := open(t, letter(1, "x", "other"), letter(1, "a", bowTie), letter(1, "y", "other"))
	d := must.Get(s.Show(t.Context(), "a"))(t)
	if string(d.Letter.Content.Value) != bowTie || d.Letter.Content.Headers[0].Key != "traceparent" {
		t.Errorf("content %+v", d.Letter.Content)
	}
	if d.Decode != nil || !strings.Contains(string(d.Feature), `"id":"a"`) {
		t.Errorf("feature %s, %v", d.Feature, d.Decode)
	}
	if d.Verdict.Passes || d.Verdict.Code != classify.CodeGeometryInvalid || d.Verdict.Message == "" {
		t.Errorf("verdict %+v", d.Verdict)
	}
}

func TestShow_says_why_bytes_cannot_be_decoded(t *testing.T) {
	tomb := letter(0, "tomb", "")
	tomb.Value = nil
	s := open(t, letter(0, "broken", `{"type":`), tomb)
	d, err := s.Show(t.Context(), "broken")
	if err != nil || d.Decode == nil || d.Feature != nil || d.Verdict.Code != classify.CodeTruncatedJSON {
		t.Errorf("broken: %+v, %v", d, err)
	}
	d, err = s.Show(t.Context(), "tomb")
	if err != nil || d.Decode != nil || d.Feature != nil || !d.Verdict.Passes {
		t.Errorf("tombstone: %+v, %v", d, err)
	}
	if _, err := s.Show(t.Context(), "nobody"); !errors.Is(err, dlqindex.ErrNoLetter) {
		t.Errorf("unknown id: %v", err)
	}
}

func TestService_names_a_missing_topic(t *testing.T) {
	cfg := *open(t).cfg
	cfg.Topics.DLQStatus = "nowhere"
	s := openDLQ(t, &cfg)
	err := s.Letters(t.Context(), dlqindex.Query{}, func(deadletters.Letter) error { return context.Canceled })
	if !errors.Is(err, kafka.ErrNoTopic) {
		t.Errorf("got %v", err)
	}
}
