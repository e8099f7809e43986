package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// C-7: a reader sees what is committed, and nothing of a transaction that was aborted.
func TestRead_C_7_committed_records_only(t *testing.T) {
	cluster := must.Get(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "parcels.out", "empty")))(t)
	t.Cleanup(cluster.Close)
	broker := cluster.ListenAddrs()[0]
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(broker), kgo.TransactionalID("t"), kgo.DefaultProduceTopic("parcels.out")))(t)
	defer client.Close()
	transaction := func(end kgo.TransactionEndTry, keys ...string) {
		must.Do(t, client.BeginTransaction())
		for _, key := range keys {
			must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Key: []byte(key), Value: []byte("{}")}).FirstErr())
		}
		must.Do(t, client.EndTransaction(t.Context(), end))
	}
	transaction(kgo.TryCommit, "a", "b", "c", "d")
	transaction(kgo.TryAbort, "e", "f", "g", "h")
	for topic, want := range map[string]string{"parcels.out": "a b c d", "empty": ""} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"-brokers", broker, "-topic", topic}, &out, &errs)
		must.That(t, code == 0, "%d %s", code, errs.String())
		var keys []string
		for line := range strings.Lines(out.String()) {
			key, value, _ := strings.Cut(line, "\t")
			expect.Equal(t, value, "{}\n")
			keys = append(keys, key)
		}
		slices.Sort(keys)
		expect.Equal(t, strings.Join(keys, " "), want)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, 2, "name the topic with -topic"},
		{[]string{"-brokers", broker, "-topic", "nowhere"}, 1, "topic nowhere at " + broker},
		{[]string{"-brokers", "127.0.0.1:1", "-topic", "x"}, 1, "topic x at 127.0.0.1:1"},
		{[]string{"-h"}, 0, "-brokers"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), c.args, &out, &errs)
		expect.That(t, code == c.code && strings.Contains(errs.String(), c.says), "%v: %d %s", c.args, code, errs.String())
	}
}

// C-7: a reader does not wait for records that are deleted after it has asked where the topic ends.
func TestRead_C_7_deleted_records_are_not_waited_for(t *testing.T) {
	cluster := must.Get(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "parcels.out")))(t)
	t.Cleanup(cluster.Close)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic("parcels.out")))(t)
	defer client.Close()
	must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Key: []byte("a")}, &kgo.Record{Key: []byte("b")}).FirstErr())
	admin := kadm.NewClient(client)
	left := must.Get(ends(t.Context(), admin, "parcels.out"))(t)
	expect.Equal(t, left[0], 2, "end")
	for before := range int64(2) {
		var offsets kadm.Offsets
		offsets.Add(kadm.Offset{Topic: "parcels.out", Partition: 0, At: before + 1})
		must.Get(admin.DeleteRecords(t.Context(), offsets))(t)
		must.Do(t, withoutDeleted(t.Context(), admin, "parcels.out", left))
		expect.Equal(t, len(left), int(1-before), "unfinished partitions after the deletion of", before+1)
	}
}
