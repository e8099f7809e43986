package topiclog

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/twmb/franz-go/pkg/kgo"
)

// connect gives a test a cluster: kfake, unless a real broker is demanded.
func connect(t *testing.T) (*Cluster, context.Context) {
	t.Helper()
	if !broker.Forced() {
		t.Setenv(broker.EnvForce, "kfake")
	}
	b, err := broker.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(b)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(60*time.Second))
	t.Cleanup(cancel)
	return Connect(t, b.Addrs), ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCluster(t *testing.T) {
	c, ctx := connect(t)
	t.Run("reads_back_what_was_produced", func(t *testing.T) {
		topic := Unique("plain")
		must(t, c.Create(ctx, topic, 3, nil))
		tail := c.Tail(t, topic)
		sent := []*kgo.Record{
			{Topic: topic, Key: []byte("a"), Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}},
			{Topic: topic, Key: []byte("a"), Value: nil},
			{Topic: topic, Key: nil, Value: []byte{}},
			{Topic: topic, Key: []byte("b"), Value: []byte("2"), Partition: 2},
		}
		must(t, c.Produce(ctx, sent...))
		got, err := c.Read(ctx, topic)
		must(t, err)
		if len(got) != len(sent) {
			t.Fatalf("read %d records, sent %d", len(got), len(sent))
		}
		at := map[string]*kgo.Record{}
		for _, r := range got {
			at[Position(r)] = r
		}
		for _, want := range sent {
			have := at[Position(want)]
			if have == nil || !bytes.Equal(have.Key, want.Key) || (have.Key == nil) != (want.Key == nil) ||
				!bytes.Equal(have.Value, want.Value) || (have.Value == nil) != (want.Value == nil) {
				t.Errorf("sent %s\ngot %v", Describe(want), have)
			}
		}
		if sent[3].Partition != 2 || sent[0].Partition != sent[1].Partition {
			t.Errorf("partitions %d %d %d", sent[0].Partition, sent[1].Partition, sent[3].Partition)
		}
		tail.UntilCount(ctx, t, "the four records", 4)
	})
	t.Run("a_topic_that_is_not_there_is_empty", func(t *testing.T) {
		got, err := c.Read(ctx, Unique("none"))
		if err != nil || len(got) != 0 {
			t.Errorf("got %d records, error %v", len(got), err)
		}
	})
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		t.Run(fmt.Sprintf("reads_past_a_marker_at_the_end_commit_%t", end == kgo.TryCommit), func(t *testing.T) {
			topic := Unique("txn")
			must(t, c.Create(ctx, topic, 1, nil))
			transact(ctx, t, c, topic, 3, kgo.TryCommit)
			transact(ctx, t, c, topic, 5, end)
			got, err := c.Read(ctx, topic)
			must(t, err)
			want := 3
			if end == kgo.TryCommit {
				want = 8
			}
			if len(got) != want {
				t.Errorf("read %d records, want %d", len(got), want)
			}
		})
	}
	t.Run("takes_a_record_of_10_MB", func(t *testing.T) {
		topic := Unique("big")
		must(t, c.Create(ctx, topic, 1, map[string]string{"max.message.bytes": fmt.Sprint(12 << 20)}))
		must(t, c.Produce(ctx, &kgo.Record{Topic: topic, Value: bytes.Repeat([]byte("x"), 10<<20)}))
		got, err := c.Read(ctx, topic)
		must(t, err)
		if len(got) != 1 || len(got[0].Value) != 10<<20 {
			t.Errorf("read %d records", len(got))
		}
	})
}

func transact(ctx context.Context, t *testing.T, c *Cluster, topic string, n int, end kgo.TransactionEndTry) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.TransactionalID(Unique("id")), kgo.DefaultProduceTopic(topic))
	must(t, err)
	defer cl.Close()
	must(t, cl.BeginTransaction())
	for i := range n {
		must(t, cl.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint(i))).FirstErr())
	}
	must(t, cl.EndTransaction(ctx, end))
}
