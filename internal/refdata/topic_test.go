package refdata

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// testBroker is a broker and a client on it.
type testBroker struct {
	*kgo.Client
	opts []kgo.Opt
}

func connect(t *testing.T) testBroker {
	t.Helper()
	b := must.Get(broker.Start(t.Context()))(t)
	t.Cleanup(func() { _ = b.Close() })
	opts := []kgo.Opt{kgo.SeedBrokers(b.Addrs...)}
	client := must.Get(kgo.NewClient(append(opts, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))...))(t)
	t.Cleanup(client.Close)
	return testBroker{client, opts}
}

// topic makes a topic of the test's own, which goes with it.
func (k testBroker) topic(t *testing.T, policy string) string {
	t.Helper()
	name := fmt.Sprintf("refdata-%016x", rand.Uint64())
	admin := kadm.NewClient(k.Client)
	must.Get(admin.CreateTopic(t.Context(), 3, 1, map[string]*string{"cleanup.policy": &policy}, name))(t)
	t.Cleanup(func() { _, _ = admin.DeleteTopic(context.WithoutCancel(t.Context()), name) })
	eventually.Until(bounded(t), t, "the new topic", func() (bool, string) {
		configs, err := admin.DescribeTopicConfigs(t.Context(), name)
		if err == nil {
			_, err = configs.On(name, func(c *kadm.ResourceConfig) error { return c.Err })
		}
		return err == nil, fmt.Sprint(err)
	})
	return name
}

// send writes records of the form "key=value"; without an equals sign it is a tombstone.
func (k testBroker) send(t *testing.T, topic string, records ...string) {
	t.Helper()
	for _, text := range records {
		key, value, has := strings.Cut(text, "=")
		r := &kgo.Record{Topic: topic, Key: []byte(key)}
		if has {
			r.Value = []byte(value)
		}
		must.Do(t, k.ProduceSync(t.Context(), r).FirstErr())
	}
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(60*time.Second))
	t.Cleanup(cancel)
	return ctx
}

func TestLoad_S0_8_topic(t *testing.T) {
	k := connect(t)
	cases := []struct {
		name, column, policy string
		records              []string
		has, hasNot          []string
		err                  string
	}{
		{"keys_of_the_records", "", "compact", []string{"W2=x", "W3=", "W4=y", "W4"}, []string{"W2", "W3"}, []string{"W4", "x", ""}, ""},
		{"compacted_and_deleted", "", "compact,delete", []string{"W2=x"}, []string{"W2"}, nil, ""},
		{"a_member_of_the_values", "code", "compact", []string{
			`1={"code":"W2"}`, `2={"code":"W3"}`, `3={"code":"W3"}`, `4={"code":17}`, `5={"code":null}`, `6={"code":"old"}`, `6={"code":"new"}`, "2", "1",
		}, []string{"W3", "17", "new"}, []string{"W2", "old", "", "3"}, ""},
		{"no_topic", "", "", nil, nil, nil, "there is no topic"},
		{"not_compacted", "", "delete", []string{"W2=x"}, nil, nil, "cleanup.policy=delete"},
		{"no_key", "", "compact", []string{"W2=x", "W2"}, nil, nil, "no key in the topic"},
		{"empty", "", "compact", nil, nil, nil, "no key in the topic"},
		{"not_what_it_should_be", "code", "compact", []string{`1={"kode":"W2"}`}, nil, nil, `/0: no member "code"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			reference := transform.Reference{Name: "zones", Topic: "refdata-nowhere", Column: c.column}
			if c.policy != "" {
				reference.Topic = k.topic(t, c.policy)
			}
			k.send(t, reference.Topic, c.records...)
			store := must.Get(Open([]transform.Reference{reference}, k.opts))(t)
			err := store.Load(bounded(t))
			if c.err != "" {
				expect.That(t, err != nil && strings.Contains(err.Error(), c.err) && strings.Contains(err.Error(), `"zones"`), "got %v", err)
				return
			}
			must.That(t, err == nil, "%v", err)
			set := store.Sets()["zones"]
			for _, key := range c.has {
				expect.That(t, set.Has(key), "no %q", key)
			}
			for _, key := range c.hasNot {
				expect.That(t, !set.Has(key), "has %q", key)
			}
		})
	}
}

// What an aborted transaction wrote is no part of a set, and a marker at the end of
// the topic does not make the loading wait.
func TestLoad_S0_8_topic_of_transactions(t *testing.T) {
	k := connect(t)
	topic := k.topic(t, "compact")
	writer := must.Get(kgo.NewClient(append(k.opts, kgo.TransactionalID(topic))...))(t)
	defer writer.Close()
	for key, end := range map[string]kgo.TransactionEndTry{"committed": kgo.TryCommit, "aborted": kgo.TryAbort} {
		must.Do(t, writer.BeginTransaction())
		must.Do(t, writer.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte("x")}).FirstErr())
		must.Do(t, writer.EndTransaction(t.Context(), end))
	}
	store := must.Get(Open([]transform.Reference{{Name: "s", Topic: topic}}, k.opts))(t)
	must.Do(t, store.Load(bounded(t)))
	if set := store.Sets()["s"]; !set.Has("committed") || set.Has("aborted") {
		t.Errorf("committed %v, aborted %v", set.Has("committed"), set.Has("aborted"))
	}
}

func TestWatch_S0_8_follows_a_topic(t *testing.T) {
	k := connect(t)
	topic := k.topic(t, "compact")
	k.send(t, topic, `1={"code":"W2"}`)
	store := must.Get(Open([]transform.Reference{{Name: "zones", Topic: topic, Column: "code"}}, k.opts))(t)
	must.Do(t, store.Load(bounded(t)))
	k.send(t, topic, `2={"code":"W3"}`, "1") // between the loading and the following
	ctx, stop := context.WithCancel(bounded(t))
	var mu sync.Mutex
	var faults []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		store.Watch(ctx, time.Hour, func(r Reload) {
			mu.Lock()
			defer mu.Unlock()
			if r.Err != nil {
				faults = append(faults, fmt.Sprintf("%s, %s, %d keys: %v", r.Name, r.From, r.Keys, r.Err))
			}
		})
	}()
	set := store.Sets()["zones"]
	until := func(what string, cond func() bool) {
		t.Helper()
		eventually.Until(ctx, t, what, func() (bool, string) { return cond(), "not yet" })
	}
	until("what was written meanwhile", func() bool { return set.Has("W3") && !set.Has("W2") })
	k.send(t, topic, `3={"code":"W4"}`)
	until("a new key", func() bool { return set.Has("W4") })
	k.send(t, topic, `3={"code":{}}`, `4={"code":"W5"}`)
	until("the one after a record that gives no key", func() bool { return set.Has("W5") })
	expect.That(t, set.Has("W4"), "a record that cannot be read took a key away")
	until("the report of it", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(faults) == 1 && strings.Contains(faults[0], "zones, topic "+topic) && strings.Contains(faults[0], "a key is a string or a number")
	})
	k.send(t, topic, "3")
	until("a tombstone", func() bool { return !set.Has("W4") })
	stop()
	<-done
}
