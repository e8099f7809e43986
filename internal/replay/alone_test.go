package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

const dlt = "payments.DLT"

// anyDLQ is a world whose DLQ belongs to no pipeline, with the topics that its first change makes.
func anyDLQ(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, kfake.SeedTopics(3, "payments", dlt, dlt+".replayer-status", dlt+".replayer-audit"), kfake.SeedTopics(1, dlt+".replayer-control"))
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: dlt, Brokers: w.broker.ListenAddrs()}, nil, nil))(t)
	w.cfg = cfg
	return w
}

func (w *world) aloneService(now func() time.Time, opts ...kgo.Opt) *Service {
	w.t.Helper()
	s := must.Get(New(w.cfg, Options{Now: now, KafkaOpts: opts, Alone: true, Index: inMemory()}))(w.t)
	s.leaseLife, s.leaseRenewal = testrun.Patient(10*time.Second), 50*time.Millisecond
	s.transactionTimeout = testrun.Patient(20 * time.Second)
	w.t.Cleanup(s.Close)
	return s
}

func atStart() time.Time { return start }

// ofSpring is a dead letter in the form of Spring Kafka.
func ofSpring(i int) *kgo.Record {
	return &kgo.Record{
		Topic: dlt, Partition: int32(i % 3), Key: fmt.Append(nil, "k", i), Value: fmt.Append(nil, "v", i), Timestamp: start.Add(-time.Hour),
		Headers: []kgo.RecordHeader{
			{Key: "kafka_dlt-original-topic", Value: []byte("payments")},
			{Key: "kafka_dlt-original-partition", Value: binary.BigEndian.AppendUint32(nil, uint32(i%3))},
			{Key: "kafka_dlt-original-offset", Value: binary.BigEndian.AppendUint64(nil, uint64(i))},
			{Key: "kafka_dlt-exception-fqcn", Value: []byte("a.Failed")},
		},
	}
}

func (w *world) dieOfSpring(n int) {
	w.t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, ofSpring(i))
	}
	w.die(records...)
}

// aloneOnce fails unless so many letters stand in their origin, each once, with a state and an audit event.
func (w *world) aloneOnce(n int) {
	w.t.Helper()
	keys := map[string]int{}
	for _, r := range w.read("payments") {
		keys[string(r.Key)]++
	}
	for key, times := range keys {
		if times != 1 {
			w.t.Errorf("%s was put back %d times", key, times)
		}
	}
	states, events := 0, 0
	for _, r := range w.read(dlt + ".replayer-status") {
		if strings.HasPrefix(string(r.Key), "dlq-") {
			states++
		}
	}
	for _, r := range w.read(dlt + ".replayer-audit") {
		if strings.Contains(string(r.Value), `"decision":"replayed"`) {
			events++
		}
	}
	if len(keys) != n || states != n || events != n {
		w.t.Errorf("%d put back, %d states, %d audit events; want %d of each", len(keys), states, events, n)
	}
}

// A permission goes missing while it runs: record, state and audit event come together or not at all, and once it is granted again the
// same plan goes on.
func TestAlone_C4_aPermissionThatGoesMissing(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"payments", dlt + ".replayer-status", dlt + ".replayer-audit"} {
		t.Run(topic, func(t *testing.T) {
			w := anyDLQ(t)
			w.dieOfSpring(batchLetters + 20)
			s := w.aloneService(atStart)
			plan := w.plan(s, deadletters.Filter{})
			var ends atomic.Int32
			fault := w.broker.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.TopicAuthorizationFailed, Count: -1,
				When: func(kmsg.Request) bool { return ends.Load() > 0 },
			})
			w.onEndTxn(func(*kmsg.EndTxnRequest) { ends.Add(1) })
			r, err := s.Execute(w.ctx(), plan, ExecuteOptions{Call: ana("x")})
			if !errors.Is(err, kerr.TopicAuthorizationFailed) || !strings.Contains(err.Error(), "Write topic "+topic) || r.Transactions > 1 {
				t.Errorf("%+v, %v", r, err)
			}
			w.aloneOnce(r.Reinjected)
			fault.Remove()
			w.execute(s, plan)
			w.aloneOnce(batchLetters + 20)
		})
	}
}
