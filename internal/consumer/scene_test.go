package consumer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	orders "github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// scene is a broker, a service, and a pipeline that uses both.
type scene struct {
	t      *testing.T
	cfg    *config.Config
	client *kgo.Client
	broker *kfake.Cluster
	log    lockedLog // of its consumers
}

// lockedLog is a log that is read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newScene inserts the broker's address and the service's URL into the pipeline file, in that order.
func newScene(t *testing.T, service http.HandlerFunc, file string) *scene {
	t.Helper()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	broker := fakekafka.Start(t)
	cfg := must.Get(config.Parse("pipeline.yaml", fmt.Appendf(nil, file, broker.ListenAddrs()[0], server.URL), nil))(t)
	client := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(client), topics.Plan(cfg)))(t)
	return &scene{t: t, cfg: cfg, client: client, broker: broker}
}

// send produces records, each with its own key.
func (s *scene) send(values ...string) {
	s.t.Helper()
	for i, value := range values {
		s.client.Produce(s.t.Context(), &kgo.Record{Topic: s.cfg.Source.Topic, Key: fmt.Append(nil, i), Value: []byte(value)}, func(_ *kgo.Record, err error) {
			expect.Do(s.t, err)
		})
	}
	must.Do(s.t, s.client.Flush(s.t.Context()))
}

// control returns the current content of the control topic.
func (s *scene) control() orders.View {
	s.t.Helper()
	return must.Get(orders.Read(s.t.Context(), []kgo.Opt{kgo.SeedBrokers(s.broker.ListenAddrs()...)}, s.cfg.Topics.Control))(s.t)
}

func (s *scene) consumer() *consumer.Consumer {
	s.t.Helper()
	return must.Get(consumer.New(s.cfg, consumer.Options{Logger: slog.New(slog.NewJSONHandler(&s.log, nil))}))(s.t)
}

// publishing is a pipeline without a service.
const publishing = `
pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 0.1, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
kafka: { brokers: ["%s"] }
metrics: { listen: "" } # %s
`

// An instance announces its mapping in its group membership and publishes it in the control topic. It repeats both when
// a reference set changes.
func TestConsumer_S4_8_announcesItsMapping(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "zones.csv")
	write := func(text string) { must.Do(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("id\nA\n")
	s := newScene(t, func(http.ResponseWriter, *http.Request) {}, publishing+`
transform: { references: [{ name: zones, file: `+file+`, column: id }], fields: [{ to: zone, references: { set: zones } }] }
`)
	ctx := t.Context()
	running, stop := context.WithCancel(ctx)
	c := must.Get(consumer.New(s.cfg, consumer.Options{Interval: 10 * time.Millisecond}))(t)
	var done sync.WaitGroup
	done.Go(func() {
		expect.Do(t, c.Run(running))
	})
	defer done.Wait()
	defer stop()
	announced := func() {
		t.Helper()
		m := must.Get(pipeline.NewMapping(s.cfg))(t)
		want := must.Get(m.Fingerprint())(t)
		eventually.Until(ctx, t, "the mapping "+want, func() (bool, string) {
			r, err := status.Gather(ctx, s.cfg, kadm.NewClient(s.client), orders.View{}, nil, deadletters.NewCounter(s.client, s.cfg.Topics.DLQ, s.cfg.Topics.DLQStatus))
			var text bytes.Buffer
			if err == nil {
				err = r.Text(&text)
			}
			return err == nil && len(r.Members) == 1 && r.Members[0].Mapping == want && strings.Contains(text.String(), "mapping "+status.ShortMapping(want)), text.String()
		})
		eventually.Until(ctx, t, "the mapping is published", func() (bool, string) { _, known := s.control().Mappings[want]; return known, want })
		published := must.Get(s.cfg.Judging([]byte(s.control().Mappings[want].File)))(t)
		expect.Equal(t, must.Get(must.Get(pipeline.NewMapping(published))(t).Fingerprint())(t), want, "of the published file")
	}
	announced()
	write("id\nA\nB\n")
	announced()
}

// A missing permission prevents the publication of the pipeline file, and nothing else.
func TestConsumer_S4_6_runsWithoutPublishingItsMapping(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(http.ResponseWriter, *http.Request) {}, publishing)
	must.Get(orders.Keys(t.Context(), []kgo.Opt{kgo.SeedBrokers(s.broker.ListenAddrs()...)}, s.cfg.Topics.Control, time.Now()))(t)
	s.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: s.cfg.Topics.Control, Err: kerr.TopicAuthorizationFailed, Count: -1})
	s.send(points(3)...)
	running, stop := context.WithCancel(t.Context())
	c := s.consumer()
	var done sync.WaitGroup
	done.Go(func() { expect.Do(t, c.Run(running)) })
	defer done.Wait()
	defer stop()
	eventually.Until(t.Context(), t, "the records are delivered", func() (bool, string) { return c.Progress().Delivered == 3, s.log.String() })
	eventually.Until(t.Context(), t, "the warning", func() (bool, string) {
		log := s.log.String()
		return strings.Contains(log, "the pipeline file is not published") && strings.Contains(log, "Write topic "+s.cfg.Topics.Control), log
	})
	expect.Equal(t, len(s.control().Mappings), 0, "published")
}

// waitsLong is a pipeline whose failed records wait for a minute.
const waitsLong = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 60, tiers: [1m], retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, max_transient_rate: 1, halt_on_geometry_invalid: false }
kafka: { brokers: [%q] }
metrics: { listen: "" }
enrich:
  - { name: place, http: { url: "%s/?id={id}", allow_private: true }, set: { place: /name } }
`

// points returns n features.
func points(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`{"type":"Feature","id":"%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, i)
	}
	return out
}

// S4-12: wherever a run is interrupted, its summary counts every record that it consumed, including those that its last
// transactions put into a tier.
func TestSummary_S4_12_balancesWhereverTheRunIsInterrupted(t *testing.T) {
	for _, limit := range []int64{10, 100, 300, 390} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var requests atomic.Int64
			s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
				n := requests.Add(1)
				if n == limit {
					stop()
				}
				if n%2 == 0 {
					http.Error(w, "down", http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write([]byte(`{"name":"Ulm"}`))
			}, waitsLong)
			s.send(points(400)...)
			c := s.consumer()
			must.Do(t, c.Run(ctx))
			sum := c.Summary()
			expect.That(t, sum.Status == "interrupted" && sum.Consumed != 0 && sum.Retried != 0 && sum.Consumed == sum.Delivered+sum.Waiting, "does not balance: %+v", sum)
		})
	}
}

// S4-12: a run that is refused before its group exists has an empty checkpoint, which is nothing to warn of.
func TestSummary_S4_12_beforeTheGroupExists(t *testing.T) {
	s := newScene(t, func(http.ResponseWriter, *http.Request) {}, publishing)
	other := header.Control{Pipeline: "other", Due: time.Now(), Source: header.Position{Topic: "other"}, HasSource: true}
	must.Do(t, s.client.ProduceSync(t.Context(), &kgo.Record{Topic: s.cfg.Source.Topic + ".retry-100ms", Headers: other.AppendTo(nil)}).FirstErr())
	c := s.consumer()
	err := c.Run(t.Context())
	must.That(t, err != nil && strings.Contains(err.Error(), `records of pipeline "other"`), "with the retry topics of another pipeline: %v", err)
	sum := c.Summary()
	expect.That(t, sum.Status == consumer.StatusFailed && len(sum.Checkpoint) == 0 && !strings.Contains(s.log.String(), `"level":"WARN"`), "%+v\n%s", sum, &s.log)
}

// S0-9: a record that waits for a service counts once for the rate of missing values, however often the service is
// probed, and with all of its values.
func TestOutage_S0_9_aProbeIsNotCountedAgain(t *testing.T) {
	const lacking = `{"type":"Feature","id":"%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`
	for name, c := range map[string]struct {
		features int
		paused   string
	}{
		"few features that probe often": {4, ""},
		"too many of a collection":      {6, "5 of 5 records"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var features []string
			for i := range c.features {
				features = append(features, fmt.Sprintf(lacking, i))
			}
			collection := `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
			run, requests := downAtFirst(t, 12, collection)
			err := run.RunUntilEnd(t.Context())
			paused, is := errors.AsType[*consumer.PausedError](err)
			expect.That(t, is == (c.paused != "") && (!is || strings.Contains(paused.State.Reason, c.paused)) && (is || err == nil), "ended with: %v", err)
			s := run.Summary()
			expect.That(t, s.Delivered == 1 && requests() == 12+c.features, "%d requests, %+v", requests(), s)
		})
	}
}

// downAtFirst returns a consumer with one record in its source. Its service, which has a breaker, refuses this many
// requests.
func downAtFirst(t *testing.T, refusals int, record string) (run *consumer.Consumer, count func() int) {
	t.Helper()
	var requests atomic.Int64
	s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= int64(refusals) {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"name":"Ulm"}`))
	}, `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 0.1, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 0.5, min_records: 5, halt_on_geometry_invalid: false }
kafka: { brokers: [%q] }
source: { split: features }
metrics: { listen: "" }
transform: { fields: [{ from: zone, to: zone, type: string }] }
enrich:
  - { name: place, http: { url: "%s/?id={id}", allow_private: true, breaker: { failures: 1, cooldown: 100ms, successes: 1 } }, set: { place: /name } }
`)
	s.send(record)
	return s.consumer(), func() int { return int(requests.Load()) }
}
