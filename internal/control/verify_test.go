package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// verifyOrders holds the chain of orders against its head.
func verifyOrders(t *testing.T, connection []kgo.Opt, cfg *config.Config) (r audit.Report) {
	t.Helper()
	client := must.Get(kgo.NewClient(connection...))(t)
	defer client.Close()
	reports, err := audit.Verify(t.Context(), client, cfg.Topics.Audit, nil, func(ctx context.Context) (audit.Heads, error) {
		view, err := Read(ctx, connection, cfg.Topics.Control)
		return audit.Heads{audit.Orders: view.ChainHeads()}, err
	})
	must.That(t, err == nil && len(reports) <= 1, "%+v, %v", reports, err)
	if len(reports) == 1 {
		r = reports[0]
	}
	return r
}

func order(n int) State {
	return State{Phase: Held, Code: CodeOperator, Reason: fmt.Sprint(n), By: "ana", At: noon.Add(time.Duration(n) * time.Second)}
}

// Orders that several give at the same time are one chain: one writes at a time, and who was overtaken begins again.
func TestVerify_S0_11_ordersGivenSideBySideAreOneChain(t *testing.T) {
	kafka, cfg := cluster(t), configuration(t, "")
	const writers, each = 3, 2
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := range each {
				_, err := NewWriter(cfg, kafka).Pipeline(t.Context(), order(n*each+i))
				expect.That(t, err == nil, "%v", err)
			}
		})
	}
	all.Wait()
	r := verifyOrders(t, kafka, cfg)
	expect.That(t, r.Entries == writers*each && r.First == 1 && r.Head.Seq == writers*each && r.Fault+r.Gone == "", "got %+v", r)
}

// What was added, taken out or cut off shows.
func TestVerify_S0_11_finds(t *testing.T) {
	for name, c := range map[string]struct {
		alter func(t *testing.T, w *Writer)
		fault string
	}{
		"an order that nobody gave": {func(t *testing.T, w *Writer) {
			r, _, err := w.event(audit.Held, order(9), "x").Chained(audit.Orders, audit.Head{Link: audit.Link{Seq: 1, Hash: "sha256:00"}}, w.cfg.Topics.Audit, chainPartition)
			put(t, w, r, err)
		}, "entry 2 follows entry 2"},
		"a head of another history": {func(t *testing.T, w *Writer) {
			put(t, w, &kgo.Record{Topic: w.cfg.Topics.Control, Key: []byte(chainKey), Value: []byte(`{"seq":2,"prev":"sha256:00","hash":"sha256:00"}`)}, nil)
		}, "its head says sha256:00"},
		"a chain that ends too early": {func(t *testing.T, w *Writer) {
			put(t, w, &kgo.Record{Topic: w.cfg.Topics.Control, Key: []byte(chainKey), Value: []byte(`{"seq":5,"prev":"sha256:00","hash":"sha256:00"}`)}, nil)
		}, "its head is entry 5"},
		"an emptied trail":  {func(t *testing.T, w *Writer) { cut(t, w, w.cfg.Topics.Audit, -1) }, ""},
		"a trail cut off":   {func(t *testing.T, w *Writer) { cut(t, w, w.cfg.Topics.Audit, 2) }, ""},
		"an emptied memory": {func(t *testing.T, w *Writer) { cut(t, w, w.cfg.Topics.Control, -1) }, "there are 2 entries and no head"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configuration(t, "")
			w := NewWriter(cfg, cluster(t))
			for n := range 2 {
				must.Get(w.Pipeline(t.Context(), order(n)))(t)
			}
			c.alter(t, w)
			r := verifyOrders(t, w.kafka, cfg)
			expect.That(t, (r.Fault == "") == (c.fault == "") && strings.Contains(r.Fault, c.fault), "got %+v, want %q", r, c.fault)
		})
	}
}

// A transaction that a consumer has open hides what was committed behind its first record: the order is there all the same.
func TestVerify_S0_11_waitsForATransactionThatIsOpen(t *testing.T) {
	kafka, cfg := cluster(t), configuration(t, "")
	consumer := must.Get(kgo.NewClient(append(append([]kgo.Opt{}, kafka...), kgo.TransactionalID("consumer"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...))(t)
	defer consumer.Close()
	must.Do(t, consumer.BeginTransaction())
	must.Do(t, consumer.ProduceSync(t.Context(), &kgo.Record{Topic: cfg.Topics.Audit, Partition: chainPartition, Value: []byte(`{}`)}).FirstErr())
	must.Get(NewWriter(cfg, kafka).Pipeline(t.Context(), order(1)))(t)
	ended := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { ended <- consumer.EndTransaction(t.Context(), kgo.TryCommit) })
	r := verifyOrders(t, kafka, cfg)
	expect.That(t, r.Entries == 1 && r.Head != nil && r.Fault == "", "got %+v", r)
	must.Do(t, <-ended)
}

// put writes a record past the writers.
func put(t *testing.T, w *Writer, r *kgo.Record, err error) {
	t.Helper()
	must.That(t, err == nil, "%v", err)
	client := must.Get(kgo.NewClient(w.kafka...))(t)
	defer client.Close()
	must.Do(t, client.ProduceSync(t.Context(), r).FirstErr())
}

// cut removes what is before an offset of a topic, or everything (-1), as retention does.
func cut(t *testing.T, w *Writer, topic string, before int64) {
	t.Helper()
	client := must.Get(kgo.NewClient(w.kafka...))(t)
	defer client.Close()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, chainPartition, before, -1)
	deleted, err := kadm.NewClient(client).DeleteRecords(t.Context(), offsets)
	must.That(t, err == nil && deleted.Error() == nil, "%v, %v", err, deleted.Error())
}

// Processes that make a key at the same time sign with one, and a later one finds it.
func TestKeys_S4_6_allAgreeOnTheFirst(t *testing.T) {
	kafka := cluster(t)
	var wait sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wait.Go(func() {
			keys, err := Keys(t.Context(), kafka, "parcels.control", noon)
			if err != nil || len(keys) == 0 {
				t.Errorf("%d keys, %v", len(keys), err)
				return
			}
			got[i] = keys[0].ID()
		})
	}
	wait.Wait()
	again := must.Get(Keys(t.Context(), kafka, "parcels.control", noon))(t)
	for _, id := range got {
		expect.That(t, id == again[0].ID(), "one signs with %s, another one with %s", id, again[0].ID())
	}
}

func TestView_S4_6_takesKeysInTheOrderOfTheTopic(t *testing.T) {
	first, second := proof.Random(), proof.Random()
	v := newView()
	for i, k := range []proof.Key{first, second, first} { // written again, it lies behind
		r := must.Get(keyRecord("c", k, noon))(t)
		r.Offset = int64(i)
		must.Do(t, v.apply(r))
	}
	expect.That(t, len(v.Keys) == 2 && v.Keys[0].ID() == second.ID() && bytes.Equal(v.Keys[1].Reveal(), first.Reveal()), "%d keys, the first is %s", len(v.Keys), v.Keys[0].ID())
	err := v.apply(&kgo.Record{Key: []byte(replayKeyPrefix + second.ID())})
	expect.That(t, err == nil && len(v.Keys) == 1 && v.Keys[0].ID() == first.ID(), "after a tombstone: %d keys, %v", len(v.Keys), err)
	text := fmt.Sprintf("%v %+v %#v", v, v, v.Keys)
	expect.That(t, !strings.Contains(text, fmt.Sprint(first.Reveal()[:4])[1:10]), "the view shows a key: %s", text)
}

func TestView_refusesABrokenKey(t *testing.T) {
	k := proof.Random()
	whole := must.Get(keyRecord("c", k, noon))(t)
	secret := string(whole.Value)
	for name, c := range map[string]struct {
		id, value string
		newer     bool
	}{
		"no JSON":          {k.ID(), "x" + secret, false},
		"empty":            {k.ID(), "", false},
		"no version":       {k.ID(), strings.Replace(secret, `"version":1`, `"version":0`, 1), false},
		"newer":            {k.ID(), strings.Replace(secret, `"version":1`, `"version":2`, 1), true},
		"another one's id": {proof.Random().ID(), secret, false},
		"short":            {k.ID(), `{"version":1,"key":"AAAA"}`, false},
	} {
		v := newView()
		err := v.apply(&kgo.Record{Topic: "c", Offset: 7, Key: []byte(replayKeyPrefix + c.id), Value: []byte(c.value)})
		expect.That(t, err != nil && errors.Is(err, ErrNewer) == c.newer && strings.Contains(err.Error(), "c/0/7") && !strings.Contains(err.Error(), secret[20:40]) && len(v.Keys) == 0, "%s: got %v", name, err)
	}
}
