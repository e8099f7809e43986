package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// A reference set in a topic is read before the first record is judged, and a broker that does not answer is no fault of
// the record.
func TestHandle_S0_8_referencesFromATopic(t *testing.T) {
	broker := fakekafka.Start(t, kfake.SeedTopics(2, "zones"))
	client := fakekafka.Client(t, broker)
	mapping := `
transform:
  references: [{ name: zones, topic: zones }]
  fields: [{ to: zone, references: { set: zones, mandatory: true } }]
kafka: { brokers: ["` + broker.ListenAddrs()[0] + `"] }
`
	feature := func(zone string) string {
		return `{"type":"Feature","id":1,"geometry":null,"properties":{"zone":"` + zone + `"}}`
	}
	p := build(t, mapping)
	if _, err := p.Handle(t.Context(), record(feature("W2"))); err == nil || !strings.Contains(err.Error(), "cleanup.policy=delete") {
		t.Fatalf("a topic that is not compacted: %v", err)
	}
	compact := "compact"
	must.Get(kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &compact}}, "zones"))(t)
	must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "zones", Key: []byte("W2"), Value: []byte("x")}).FirstErr())
	if _, err := p.Handle(t.Context(), record(feature("W2"))); err != nil {
		t.Errorf("a key of the set: %v", err)
	}
	_, err := p.Handle(t.Context(), record(feature("W9")))
	if e, ok := errors.AsType[*transform.Error](err); !ok || e.Code != classify.CodeForeignKeyUnresolved {
		t.Errorf("no key of the set: %v", err)
	}
	broker.Close()
	if _, err = build(t, mapping).Handle(t.Context(), record(feature("W2"))); !classify.Of(err).Transient() {
		t.Errorf("without a broker: %v, %+v", err, classify.Of(err))
	}
}
