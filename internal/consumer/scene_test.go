package consumer_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
)

// scene is a broker, a service, and a pipeline that uses both.
type scene struct {
	t      *testing.T
	cfg    *config.Config
	client *kgo.Client
	broker *devbroker.Broker
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

// newScene fills the address of the broker and the URL of the service into the text of the pipeline file, in that order.
func newScene(t *testing.T, service http.HandlerFunc, file string) *scene {
	t.Helper()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	broker := must.Get(devbroker.Start(devbroker.Options{}))(t)
	t.Cleanup(broker.Close)
	cfg := must.Get(config.Parse("pipeline.yaml", fmt.Appendf(nil, file, broker.Addr(), server.URL), nil))(t)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))))(t)
	t.Cleanup(client.Close)
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(client), topics.Plan(cfg)))(t)
	return &scene{t: t, cfg: cfg, client: client, broker: broker}
}

// send sends records, each with a key of its own.
func (s *scene) send(values ...string) {
	s.t.Helper()
	for i, value := range values {
		s.client.Produce(s.t.Context(), &kgo.Record{Topic: s.cfg.Source.Topic, Key: fmt.Append(nil, i), Value: []byte(value)}, func(_ *kgo.Record, err error) {
			if err != nil {
				s.t.Error(err)
			}
		})
	}
	must.Do(s.t, s.client.Flush(s.t.Context()))
}

func (s *scene) consumer() *consumer.Consumer {
	s.t.Helper()
	return must.Get(consumer.New(s.cfg, consumer.Options{Logger: slog.New(slog.NewJSONHandler(&s.log, nil))}))(s.t)
}
