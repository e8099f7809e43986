package kafka

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// cluster starts a broker with topics "t" (3 partitions), "dlq" and "status" (2 each).
func cluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	return fakekafka.Start(t, append([]kfake.Opt{kfake.NumBrokers(2), kfake.SeedTopics(3, "t"), kfake.SeedTopics(2, "dlq", "status")}, opts...)...)
}

func client(t *testing.T, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return fakekafka.Client(t, c, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
}

func produce(t *testing.T, cl *kgo.Client, topic string, partition int32, values ...string) {
	t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
		must.Do(t, cl.ProduceSync(t.Context(), r).FirstErr())
	}
}

// transaction writes values to t/0. If end is nil, the transaction stays open.
func transaction(t *testing.T, cl *kgo.Client, end *kgo.TransactionEndTry, values ...string) {
	t.Helper()
	must.Do(t, cl.BeginTransaction())
	produce(t, cl, "t", 0, values...)
	if end != nil {
		must.Do(t, cl.EndTransaction(t.Context(), *end))
	}
}

func scanAll(t *testing.T, cl *kgo.Client, topic string) []string {
	t.Helper()
	ctx := testrun.Context(t, 20*time.Second)
	spans := must.Get(Spans(ctx, cl, topic))(t)
	var seen []string
	must.Do(t, Scan(ctx, cl, topic, spans, func(r *kgo.Record) error {
		seen = append(seen, fmt.Sprintf("%d:%s", r.Partition, r.Value))
		return nil
	}))
	return seen
}

func TestScan_ends_at_the_last_stable_offset(t *testing.T) {
	commit, abort := kgo.TryCommit, kgo.TryAbort
	for _, c := range []struct {
		name  string
		write func(t *testing.T, plain, a, b *kgo.Client)
		want  []string
	}{
		{"nothing there", func(*testing.T, *kgo.Client, *kgo.Client, *kgo.Client) {}, nil},
		{"all partitions in order", func(t *testing.T, plain, _, _ *kgo.Client) {
			produce(t, plain, "t", 2, "x")
			produce(t, plain, "t", 0, "y", "z")
		}, []string{"0:y", "0:z", "2:x"}},
		{"tail is a commit marker", func(t *testing.T, _, a, _ *kgo.Client) {
			transaction(t, a, &commit, "1", "2")
		}, []string{"0:1", "0:2"}},
		{"tail is an aborted transaction", func(t *testing.T, plain, a, _ *kgo.Client) {
			produce(t, plain, "t", 0, "1")
			transaction(t, a, &abort, "2", "3")
		}, []string{"0:1"}},
		{"aborted records between committed ones", func(t *testing.T, _, a, b *kgo.Client) {
			transaction(t, a, &commit, "1")
			transaction(t, b, &abort, "2")
			transaction(t, a, &commit, "3")
		}, []string{"0:1", "0:3"}},
		{"an open transaction hides the records after it", func(t *testing.T, plain, a, _ *kgo.Client) {
			produce(t, plain, "t", 0, "1")
			transaction(t, a, nil, "2")
			produce(t, plain, "t", 0, "3")
		}, []string{"0:1"}},
		{"only aborted records before an open transaction", func(t *testing.T, _, a, b *kgo.Client) {
			transaction(t, a, nil, "1")
			transaction(t, b, nil, "2")
			must.Do(t, a.EndTransaction(t.Context(), kgo.TryAbort))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			broker := cluster(t)
			c.write(t, client(t, broker), client(t, broker, kgo.TransactionalID("a")), client(t, broker, kgo.TransactionalID("b")))
			got := scanAll(t, client(t, broker), "t")
			expect.That(t, slices.Equal(got, c.want), "got %v, want %v", got, c.want)
		})
	}
}

// outOfRange makes a cluster answer the next fetch like Apache Kafka when the records are deleted: without the start of
// the log.
func outOfRange(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		requested := req.(*kmsg.FetchRequest).Topics[0]
		part := kmsg.NewFetchResponseTopicPartition()
		part.Partition, part.ErrorCode, part.LogStartOffset = requested.Partitions[0].Partition, kerr.OffsetOutOfRange.Code, -1
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID, topic.Partitions = requested.Topic, requested.TopicID, []kmsg.FetchResponseTopicPartition{part}
		answer := req.ResponseKind().(*kmsg.FetchResponse)
		answer.Topics = []kmsg.FetchResponseTopic{topic}
		return answer, nil, true
	})
}

func TestScan_starts_where_retention_left_off(t *testing.T) {
	c := cluster(t)
	cl := client(t, c)
	produce(t, cl, "t", 0, "1", "2", "3")
	before, err := Spans(t.Context(), cl, "t")
	must.Do(t, err)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "t", Partition: 0, At: 2})
	must.Get(kadm.NewClient(cl).DeleteRecords(t.Context(), offsets))(t)
	got := scanAll(t, cl, "t")
	expect.That(t, slices.Equal(got, []string{"0:3"}), "after deletion: %v", got)
	outOfRange(c)
	var seen []string
	err = Scan(t.Context(), cl, "t", before, func(r *kgo.Record) error {
		seen = append(seen, string(r.Value))
		return nil
	})
	expect.That(t, err == nil && slices.Equal(seen, []string{"3"}), "deleted while it was being read: %v, %v", seen, err)
}

func TestScan_gives_back_the_error_of_its_callback(t *testing.T) {
	cl := client(t, cluster(t))
	produce(t, cl, "t", 0, "1")
	spans := must.Get(Spans(t.Context(), cl, "t"))(t)
	stop := errors.New("enough")
	err := Scan(t.Context(), cl, "t", spans, func(*kgo.Record) error { return stop })
	expect.That(t, err == stop, "got %v", err)
}

func TestScan_stops_when_canceled(t *testing.T) {
	cl := client(t, cluster(t))
	produce(t, cl, "t", 0, "1")
	spans := must.Get(Spans(t.Context(), cl, "t"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Scan(ctx, cl, "t", spans, func(*kgo.Record) error { return nil })
	expect.That(t, errors.Is(err, context.Canceled), "got %v", err)
}

func TestSpans_names_a_topic_that_does_not_exist(t *testing.T) {
	_, err := Spans(t.Context(), client(t, cluster(t)), "missing.dlq")
	expect.That(t, errors.Is(err, ErrNoTopic), "got %v", err)
}

func TestCopyValue_S0_5_writes_what_no_memory_holds(t *testing.T) {
	cl := client(t, cluster(t, kfake.SeedTopics(1, "one")))
	bomb := bombs.Record{Key: []byte("k"), Value: []byte(`{"type":"Feature"`), Blanks: 200 << 20}
	must.Get(bombs.Produce(t.Context(), cl, "t", 0, bombs.Batch(kgo.CodecGzip, time.UnixMilli(1_790_000_000_000), bomb)))(t)
	h := sha256.New()
	l, err := CopyValue(t.Context(), cl, header.Position{Topic: "t"}, h)
	must.That(t, err == nil && l.Bytes == 200<<20+17 && string(l.Key) == "k", "%v, %v", l, err)
	want := sha256.New()
	_, _ = want.Write([]byte(`{"type":"Feature"`))
	for range 200 {
		_, _ = want.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	expect.That(t, bytes.Equal(h.Sum(nil), want.Sum(nil)), "other bytes were written")
	_, err = CopyValue(t.Context(), cl, header.Position{Topic: "t"}, failing{})
	expect.That(t, errors.Is(err, errFull) && !errors.Is(err, recordbatch.ErrNoRecord) && strings.HasPrefix(err.Error(), "read t/0/0: "), "%v", err)
	if _, err = CopyValue(t.Context(), cl, header.Position{Topic: "one", Partition: 4}, io.Discard); fmt.Sprint(err) != "topic one has no partition 4" {
		t.Errorf("%v", err)
	}
}

var errFull = errors.New("no space")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestNamed_S4_15_saysWhoLacksWhatAndWhatPrintsIt(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"topic", DeniedTopic("Read", "a.dlq", kerr.TopicAuthorizationFailed), "x: User:app may not Read topic a.dlq: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]"},
		{"group", DeniedGroup("Read", "g", kerr.GroupAuthorizationFailed), "x: User:app may not Read group g: GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group authorization failed."},
		{"transactional id of a record", DeniedProduce("g-1", "a", kerr.TransactionalIDAuthorizationFailed), "x: User:app may not Write transactional id g-1: TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Transactional ID authorization failed."},
		{"topic of a record", DeniedProduce("g-1", "a", kerr.TopicAuthorizationFailed), "x: User:app may not Write topic a: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]"},
		{"transactional id", DeniedTransactionalID("g-1", kerr.TransactionalIDAuthorizationFailed), "x: User:app may not Write transactional id g-1: TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Transactional ID authorization failed."},
	} {
		wrapped := fmt.Errorf("x: %w", c.err)
		got := NamedDenial("User:app", "consumer topics acls", wrapped)
		expect.Equal(t, c.want+"; an administrator of the cluster must grant it: `consumer topics acls` prints the required ones", got.Error(), c.name, got)
		denied, ok := errors.AsType[*retrytopics.DeniedError](got)
		expect.That(t, ok && denied.Operation != "", "%s: the kind of the error is lost", c.name)
	}
	for _, other := range []error{nil, errors.New("other"), DeniedTopic("Read", "a", kerr.UnknownTopicOrPartition)} {
		if got := NamedDenial("User:app", "c", other); got != other { //nolint:errorlint // the very same
			t.Errorf("%v became %v", other, got)
		}
	}
}

func TestTopics_S4_15_findsTheTopicThatWasRefused(t *testing.T) {
	ask := func(name string) error {
		if name == "b" {
			return kerr.TopicAuthorizationFailed
		}
		return nil
	}
	got := DeniedTopics("Describe", []string{"a", "b", "c"}, kerr.TopicAuthorizationFailed, ask)
	denied, ok := errors.AsType[*retrytopics.DeniedError](got)
	expect.That(t, ok && denied.Resource == "topic b" && denied.Operation == "Describe", "%v", got)
	for _, other := range []error{nil, errors.New("other"), DeniedTopic("Read", "a", kerr.TopicAuthorizationFailed)} {
		if got := DeniedTopics("Describe", []string{"b"}, other, ask); got != other { //nolint:errorlint // the very same
			t.Errorf("%v became %v", other, got)
		}
	}
	got = DeniedTopics("Describe", []string{"a"}, kerr.TopicAuthorizationFailed, ask)
	expect.That(t, errors.Is(got, kerr.TopicAuthorizationFailed), "granted meanwhile: %v", got)
}
