package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 250_000_000, time.UTC)

func paused() State {
	return State{Phase: Paused, Code: CodeNullRate, Reason: "owner_name: 7 % of 200", By: "consumer a", RunID: "r", At: noon}
}

func configuration(t *testing.T, rest string) *config.Config {
	t.Helper()
	cfg := must.Get(config.Parse("test.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
`+rest), nil))(t)
	return cfg
}

func TestState_refusesWhatNobodyCouldRead(t *testing.T) {
	for name, s := range map[string]State{
		"no phase": {At: noon}, "unknown phase": {Phase: "asleep", At: noon}, "no time": {Phase: Paused}, "a batch's": {Phase: Quarantined, At: noon},
	} {
		_, err := PipelineRecord("c", s)
		expect.That(t, err != nil, "%s was taken", name)
	}
	_, err := BatchRecord("c", "", State{Phase: Quarantined, At: noon})
	expect.That(t, err != nil, "a batch without an id was accepted")
	s := paused()
	s.Reason = strings.Repeat("ü", MaxReason)
	r := must.Get(PipelineRecord("c", s))(t)
	var w stateWire
	err = json.Unmarshal(r.Value, &w)
	expect.That(t, err == nil && len(w.Reason) <= MaxReason && strings.HasSuffix(w.Reason, "ü…"), "reason of %d bytes, %v", len(w.Reason), err)
}

func TestView_theLastRecordOfAKeyCounts(t *testing.T) {
	quarantined := State{Phase: Quarantined, Code: CodeNullRate, At: noon}
	running := State{Phase: Running, By: "ana", At: noon.Add(time.Hour)}
	offset := int64(0)
	v := newView()
	apply := func(r *kgo.Record, err error) {
		t.Helper()
		must.Do(t, err)
		r.Offset, offset = offset, offset+1
		must.Do(t, v.apply(r))
	}
	apply(PipelineRecord("c", paused()))
	apply(BatchRecord("c", "a/b", quarantined))
	apply(BatchRecord("c", "gone", quarantined))
	apply(BatchRecord("c", "gone", running))
	apply(&kgo.Record{Key: []byte("of a later version"), Value: []byte("?")}, nil)
	want := newView()
	want.Pipeline, want.Ordered, want.Next = paused(), 0, 5
	want.Batches, want.orderedB = map[string]State{"a/b": quarantined}, map[string]int64{"a/b": 1, "gone": 3}
	expect.That(t, reflect.DeepEqual(v, want), "got %+v", v)
	apply(PipelineRecord("c", running))
	expect.That(t, v.Pipeline == running, "got %+v", v.Pipeline)
	apply(&kgo.Record{Key: []byte("pipeline")}, nil)
	expect.That(t, v.Pipeline == (State{Phase: Running}), "after a tombstone: %+v", v.Pipeline)
}

// A key prefix includes its slash: without it, the key is unknown and has no effect, whatever its value.
func TestView_ignoresAKeyWithoutItsSlash(t *testing.T) {
	values := []string{
		`{"version":1,"state":"quarantined","at":"2026-07-01T12:00:00Z"}`, `{"version":1,"text":"look"}`, `{"version":1,"verb":"pause"}`,
		`{"version":1,"kind":"replay","state":"done"}`, `?`,
	}
	for _, prefix := range []string{batchPrefix, replayKeyPrefix, jobPrefix, jobOrderPrefix, notePrefix} {
		v, key := newView(), strings.TrimSuffix(prefix, "/")
		for _, value := range values {
			v.put(t, key, []byte(value))
		}
		v.put(t, key, nil)
		want := newView()
		want.Next = 1
		expect.That(t, reflect.DeepEqual(v, want), "%s: got %+v", key, v)
	}
}

func TestView_refusesWhatItCannotRead(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		newer      bool
	}{
		"newer":       {"pipeline", `{"version":2,"state":"paused","at":"2026-07-01T12:00:00Z"}`, true},
		"no version":  {"pipeline", `{"state":"paused","at":"2026-07-01T12:00:00Z"}`, false},
		"no JSON":     {"pipeline", `held`, false},
		"empty":       {"pipeline", ``, false},
		"a batch's":   {"pipeline", `{"version":1,"state":"quarantined","at":"2026-07-01T12:00:00Z"}`, false},
		"held batch":  {"batch/a", `{"version":1,"state":"paused","at":"2026-07-01T12:00:00Z"}`, false},
		"wrong time":  {"pipeline", `{"version":1,"state":"paused","at":"noon"}`, false},
		"wrong phase": {"pipeline", `{"version":1,"state":"asleep","at":"2026-07-01T12:00:00Z"}`, false},
	} {
		v := newView()
		err := v.apply(&kgo.Record{Topic: "c", Offset: 7, Key: []byte(c.key), Value: []byte(c.value)})
		expect.That(t, err != nil && errors.Is(err, ErrNewer) == c.newer && strings.Contains(err.Error(), "c/0/7"), "%s: got %v", name, err)
	}
}

func cluster(t *testing.T) []kgo.Opt {
	t.Helper()
	c := fakekafka.Start(t, kfake.SeedTopics(1, "parcels.control", "parcels.audit"))
	return []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}
}

// eachDelivery runs a test with a cluster, configuration and writer for each delivery guarantee.
func eachDelivery(t *testing.T, test func(*testing.T, []kgo.Opt, *config.Config, *Writer)) {
	t.Helper()
	for _, delivery := range config.Deliveries() {
		t.Run(string(delivery), func(t *testing.T) {
			kafka := cluster(t)
			cfg := configuration(t, "delivery: "+string(delivery)+"\n")
			test(t, kafka, cfg, NewWriter(cfg, kafka))
		})
	}
}

// A follower gets every order in sequence. A later reader gets the current state.
func TestWriteAndFollow_S0_11(t *testing.T) {
	eachDelivery(t, func(t *testing.T, kafka []kgo.Opt, cfg *config.Config, w *Writer) {
		if v, err := Read(t.Context(), kafka, cfg.Topics.Control); err != nil || v.Pipeline.IsPaused() {
			t.Fatalf("an empty topic: %+v, %v", v, err)
		}
		first := must.Get(w.Pipeline(t.Context(), paused()))(t)
		reader := must.Get(Open(t.Context(), kafka, cfg.Topics.Control))(t)
		defer reader.Close()
		if v := reader.View(); v.Pipeline != paused() || v.Next <= first {
			t.Errorf("at the start %+v", v)
		}
		ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
		defer cancel()
		must.Get(w.Batch(ctx, "b1", State{Phase: Quarantined, Code: CodeNullRate, Reason: "x", By: "consumer a", At: noon}))(t)
		must.Do(t, w.Report(ctx, "b1", State{Phase: Quarantined, Code: CodeNullRate, Reason: "x", By: "consumer b", At: noon}, 3))
		resumed := State{Phase: Running, Code: CodeOperator, Reason: "fixed", By: "ana", At: noon}
		must.Get(w.Pipeline(ctx, resumed))(t)
		var last View
		err := reader.Follow(ctx, func(v View) {
			if last = v; !v.Pipeline.IsPaused() {
				cancel()
			}
		}, func(err error) { t.Error(err) })
		expect.That(t, err == nil && last.Pipeline == resumed && last.Batches["b1"].Reason == "x", "followed to %+v, %v", last, err)
		checkTrail(t, kafka, cfg)
	})
}

// A gate that has not seen the latest order for the pipeline writes none.
func TestPauseSince_S1_8_isRefusedByALaterOrder(t *testing.T) {
	eachDelivery(t, func(t *testing.T, kafka []kgo.Opt, cfg *config.Config, w *Writer) {
		one, other := paused(), paused()
		one.By, other.By = "consumer one", "consumer other"
		must.Get(w.PauseSince(t.Context(), one, 0))(t)
		refused := func(by string) {
			t.Helper()
			_, err := w.PauseSince(t.Context(), other, 0)
			e, ok := errors.AsType[*OvertakenError](err)
			must.That(t, ok && e.View.Pipeline.By == by, "got %v, want an order that %s has overtaken", err, by)
		}
		refused("consumer one")
		must.Get(w.Pipeline(t.Context(), State{Phase: Running, Code: CodeOperator, Reason: "fixed", By: "ana", At: noon}))(t)
		refused("ana")
		now := must.Get(Read(t.Context(), kafka, cfg.Topics.Control))(t)
		_, err := w.PauseSince(t.Context(), other, now.Next)
		expect.That(t, err == nil, "order of a gate that has seen the resume: %v", err)
		now, err = Read(t.Context(), kafka, cfg.Topics.Control)
		expect.That(t, err == nil && now.Pipeline == other, "in the end %+v, %v", now.Pipeline, err)
	})
}

// A gate does not quarantine a batch if it has not seen that another instance quarantined it or an operator released
// it.
func TestQuarantineSince_S4_1_isRefusedByALaterOrder(t *testing.T) {
	eachDelivery(t, func(t *testing.T, kafka []kgo.Opt, cfg *config.Config, w *Writer) {
		of := func(by string) State {
			return State{Phase: Quarantined, Code: CodeNullRate, Reason: "x", By: by, At: noon}
		}
		quarantine := func(id, by string, known int64) error {
			_, err := w.QuarantineSince(t.Context(), id, of(by), known)
			return err
		}
		must.Do(t, errors.Join(quarantine("a", "consumer one", 0), quarantine("b", "consumer one", 0)))
		refused := func(words string) {
			t.Helper()
			err := quarantine("a", "consumer other", 0)
			e, ok := errors.AsType[*OvertakenError](err)
			must.That(t, ok && e.Batch == "a" && strings.Contains(err.Error(), words), "got %v, want an order that is overtaken: %s", err, words)
		}
		refused("quarantined by consumer one meanwhile")
		must.Get(w.Batch(t.Context(), "a", State{Phase: Running, Code: CodeOperator, Reason: "fixed", By: "ana", At: noon}))(t)
		refused("let through meanwhile")
		now := must.Get(Read(t.Context(), kafka, cfg.Topics.Control))(t)
		err := quarantine("a", "consumer other", now.Next)
		expect.That(t, err == nil, "quarantine by a gate that has seen the release: %v", err)
		now, err = Read(t.Context(), kafka, cfg.Topics.Control)
		expect.That(t, err == nil && now.Batches["a"] == of("consumer other") && now.Batches["b"] == of("consumer one"), "in the end %+v, %v", now.Batches, err)
	})
}

func checkTrail(t *testing.T, kafka []kgo.Opt, cfg *config.Config) {
	t.Helper()
	client := must.Get(kgo.NewClient(append(kafka, kgo.ConsumeTopics(cfg.Topics.Audit), kgo.FetchIsolationLevel(kgo.ReadCommitted()))...))(t)
	defer client.Close()
	var got []string
	for len(got) < 4 {
		fetches := client.PollFetches(t.Context())
		must.Do(t, fetches.Err())
		for r := range fetches.RecordsAll() {
			e := must.Get(audit.Parse(r.Value))(t)
			got = append(got, strings.Join([]string{string(e.Decision), e.By, e.Code, e.Reason, e.Message}, " | "))
		}
	}
	want := []string{
		"paused | consumer a | null_rate | owner_name: 7 % of 200 | pipeline paused by consumer a",
		"state_changed | consumer a | null_rate | x | batch b1 quarantined by consumer a",
		"state_changed | consumer b | null_rate | x | batch b1 is quarantined; consumer b had delivered 3 of its records since it started: they are in parcels.out, with the header batch-id",
		"state_changed | ana | operator | fixed | pipeline running by ana",
	}
	expect.That(t, slices.Equal(got, want), "audit trail\n got %q\nwant %q", got, want)
}

func TestOpen_saysWhichTopicIsMissing(t *testing.T) {
	_, err := Open(t.Context(), cluster(t), "nowhere")
	expect.That(t, err != nil && strings.Contains(err.Error(), "nowhere"), "got %v", err)
}

// A restarting broker has no leaders at first, so a starting consumer waits for a leader.
func TestOpen_S4_12_waitsForALeader(t *testing.T) {
	c := fakekafka.Start(t, kfake.SeedTopics(1, "parcels.control"))
	requests := 0
	c.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		if requests++; requests > 2 {
			return nil, nil, false
		}
		c.KeepControl()
		resp := request.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, topic := range request.(*kmsg.ListOffsetsRequest).Topics {
			rt := kmsg.NewListOffsetsResponseTopic()
			rt.Topic = topic.Topic
			for _, p := range topic.Partitions {
				rp := kmsg.NewListOffsetsResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, kerr.LeaderNotAvailable.Code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	r := must.Get(Open(t.Context(), []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.RequestRetries(0)}, "parcels.control"))(t)
	r.Close()
	expect.That(t, requests >= 3, "it asked %d times", requests)
}

// Any record in the topic is either an error or an order that is encoded to the same order.
func FuzzView(f *testing.F) {
	r := must.Get(PipelineRecord("c", paused()))(f)
	f.Add([]byte("pipeline"), r.Value)
	f.Add([]byte("batch/b1"), []byte(`{"version":1,"state":"quarantined","at":"2026-07-01T12:00:00Z"}`))
	f.Add([]byte("pipeline"), []byte(`{"version":9}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		v := newView()
		if err := v.apply(&kgo.Record{Key: key, Value: value}); err != nil || v.Pipeline.At.IsZero() || v.Pipeline.At.Year() > 9999 {
			return
		}
		again := must.Get(PipelineRecord("c", v.Pipeline))(t)
		back := newView()
		must.Do(t, back.apply(again))
		v.Pipeline.At = v.Pipeline.At.Truncate(time.Millisecond)
		must.That(t, len(v.Pipeline.Reason) > MaxReason || back.Pipeline == v.Pipeline, "%+v came back as %+v", v.Pipeline, back.Pipeline)
	})
}

// The topic keeps the latest mappings, whatever else it contains. Consumers do not get them, and a malformed mapping is
// ignored.
func TestPublishMapping_S4_6(t *testing.T) {
	kafka := cluster(t)
	cfg := configuration(t, "")
	publish := func(fingerprint string, m Mapping) View {
		t.Helper()
		must.Do(t, PublishMapping(t.Context(), kafka, cfg.Topics.Control, fingerprint, m))
		return must.Get(Read(t.Context(), kafka, cfg.Topics.Control))(t)
	}
	first := Mapping{File: "pipeline: {}", Software: "v1", At: noon.Add(-time.Hour)}
	v := publish("sha256:first", first)
	expect.Equal(t, v.Mappings["sha256:first"], first, "read back")
	expect.Equal(t, publish("sha256:first", first).Next, v.Next, "offset after publishing an existing mapping")
	reader := must.Get(Open(t.Context(), kafka, cfg.Topics.Control))(t)
	defer reader.Close()
	for i := range keptMappings + 3 {
		v = publish(fmt.Sprint("sha256:", i), Mapping{File: "x", At: noon.Add(time.Duration(i) * time.Second)})
	}
	_, oldest := v.Mappings["sha256:3"]
	_, gone := v.Mappings["sha256:2"]
	expect.That(t, len(v.Mappings) == keptMappings && oldest && !gone, "%d are kept: %v", len(v.Mappings), v.Mappings)
	_, latest := publish("sha256:old", Mapping{File: "old", At: time.Time{}.Add(time.Hour)}).Mappings["sha256:old"]
	expect.That(t, latest, "the published mapping was removed because of its old timestamp")

	must.Get(NewWriter(cfg, kafka).Pipeline(t.Context(), paused()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	notified := 0
	must.Do(t, reader.Follow(ctx, func(View) { notified++; cancel() }, func(err error) { t.Error(err) }))
	expect.That(t, notified == 1 && reader.View().Pipeline == paused(), "%d notifications, the first of them %v", notified, reader.View().Pipeline)

	err := PublishMapping(t.Context(), kafka, cfg.Topics.Control, "sha256:large", Mapping{File: strings.Repeat("x", MaxMappingFile+1)})
	expect.That(t, err != nil && strings.Contains(err.Error(), "at most 65536 are published"), "%v", err)
	for _, value := range []string{"", "null", "?", `{"version":2,"file":"x"}`, `{"version":1,"file":7}`, `{"version":1,"file":"` + strings.Repeat("x", MaxMappingFile+1) + `"}`} {
		must.Do(t, v.apply(&kgo.Record{Key: []byte("mapping/sha256:5"), Value: []byte(`{"version":1,"file":"x"}`)}))
		must.Do(t, v.apply(&kgo.Record{Key: []byte("mapping/sha256:5"), Value: []byte(value)}))
		_, known := v.Mappings["sha256:5"]
		expect.That(t, !known, "%.40q is a mapping", value)
	}
}
