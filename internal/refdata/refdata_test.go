package refdata

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// wantKeys checks the keys of the set zones, or the error that names the set.
func wantKeys(t *testing.T, store *Store, err error, wantErr string, has, hasNot []string) {
	t.Helper()
	if wantErr != "" {
		expect.That(t, err != nil && strings.Contains(err.Error(), wantErr) && strings.Contains(err.Error(), `"zones"`), "got %v", err)
		return
	}
	must.Do(t, err)
	set := store.Sets()["zones"]
	for _, key := range has {
		expect.That(t, set.Has(key), "no %q", key)
	}
	for _, key := range hasNot {
		expect.That(t, !set.Has(key), "has %q", key)
	}
}

func TestOpen_S0_8(t *testing.T) {
	cases := []struct {
		name, file, text, column string
		has, hasNot              []string
		err                      string
	}{
		{"csv", "a.csv", "code,name\nW2,\"Living, dense\"\nW3,x\n", "code", []string{"W2", "W3"}, []string{"", "w2", "name"}, ""},
		{"csv_bom_and_empty_cells", "a.csv", "\ufeffcode;x\n", "code;x", nil, nil, "no key"},
		{"csv_bom", "a.csv", "\ufeffcode\n7\n\n8\n", "code", []string{"7", "8"}, []string{""}, ""},
		{"csv_no_column", "a.csv", "Code\n1\n", "code", nil, nil, `no column "code"; there are ["Code"]`},
		{"csv_column_twice", "a.csv", "c,c\n1,2\n", "c", nil, nil, "twice"},
		{"csv_ragged", "a.csv", "c,d\n1\n", "c", nil, nil, "line 2"},
		{"csv_empty", "a.csv", "", "c", nil, nil, "header"},
		{"ndjson", "a.ndjson", "{\"id\":\"a\",\"x\":1}\n\n{\"id\":17}\n{\"id\":null}\n", "id", []string{"a", "17"}, []string{""}, ""},
		{"ndjson_no_member", "a.ndjson", "{\"id\":1}\n{\"ID\":2}\n", "id", nil, nil, `line 2: no member "id"`},
		{"ndjson_no_object", "a.ndjson", "[1]\n", "id", nil, nil, "line 1: it is a array"},
		{"ndjson_broken", "a.ndjson", "{\"id\":1}\n{\"id\":\n", "id", nil, nil, "line 2"},
		{"ndjson_no_key", "a.ndjson", "{\"id\":{}}\n", "id", nil, nil, "a key is"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store, err := Open([]transform.Reference{{Name: "zones", File: write(t, c.file, c.text), Column: c.column}}, nil)
			wantKeys(t, store, err, c.err, c.has, c.hasNot)
		})
	}
	_, err := Open([]transform.Reference{{Name: "s", File: "none.csv", Column: "c"}}, nil)
	expect.That(t, errors.Is(err, os.ErrNotExist), "got %v", err)
}

func TestWatch_S0_8_reloads_what_changed(t *testing.T) {
	file := write(t, "zones.csv", "code\nW2\n")
	store := must.Get(Open([]transform.Reference{{Name: "zones", File: file, Column: "code"}}, nil))(t)
	transformer := must.Get(transform.New(transform.Config{
		Fields: []transform.Field{{To: "zone", References: &transform.FieldReference{Set: "zones", Mandatory: true}}}, Sets: store.Sets(),
	}))(t)
	resolves := func(zone string) bool {
		_, err := transformer.Apply(t.Context(), []byte(`{"type":"Feature","geometry":null,"properties":{"zone":"`+zone+`"}}`))
		must.That(t, err == nil || classify.Of(err).Code == classify.CodeForeignKeyUnresolved, "%v", err)
		return err == nil
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var reloads []Reload
		go store.Watch(ctx, DefaultInterval, func(r Reload) { reloads = append(reloads, r) })
		step := func(text string) {
			if text != "" {
				must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			}
			time.Sleep(DefaultInterval)
			synctest.Wait()
		}
		step("")
		must.That(t, len(reloads) == 0 && resolves("W2") && !resolves("W3"), "before: %+v", reloads)
		step("code\nW2\nW3\n")
		must.That(t, len(reloads) == 1 && reloads[0].Err == nil && reloads[0].Keys == 2 && resolves("W3"), "after a change: %+v", reloads)
		step("kode\nX\n")
		step("")
		must.That(t, len(reloads) == 2 && reloads[1].Err != nil && reloads[1].Keys == 2 && resolves("W3"), "after a broken change: %+v", reloads)
		step("code\nW9\n")
		must.That(t, len(reloads) == 3 && reloads[2].Err == nil && !resolves("W3") && resolves("W9"), "after it was fixed: %+v", reloads)
		stop()
		synctest.Wait()
	})
}

// testBroker is a broker with a client.
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

// topic creates a topic that is deleted at the end of the test.
func (k testBroker) topic(t *testing.T, policy string) string {
	t.Helper()
	name := fmt.Sprintf("refdata-%016x", rand.Uint64())
	admin := kadm.NewClient(k.Client)
	must.Get(admin.CreateTopic(t.Context(), 3, 1, map[string]*string{"cleanup.policy": &policy}, name))(t)
	t.Cleanup(func() { _, _ = admin.DeleteTopic(context.WithoutCancel(t.Context()), name) })
	eventually.Until(testrun.Context(t, time.Minute), t, "the new topic", func() (bool, string) {
		configs, err := admin.DescribeTopicConfigs(t.Context(), name)
		if err == nil {
			_, err = configs.On(name, func(c *kadm.ResourceConfig) error { return c.Err })
		}
		return err == nil, fmt.Sprint(err)
	})
	return name
}

// send writes records of the form "key=value". A record without an equals sign is a tombstone.
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
		{"malformed_value", "code", "compact", []string{`1={"kode":"W2"}`}, nil, nil, `/0: no member "code"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			reference := transform.Reference{Name: "zones", Topic: "refdata-nowhere", Column: c.column}
			if c.policy != "" {
				reference.Topic = k.topic(t, c.policy)
			}
			k.send(t, reference.Topic, c.records...)
			store := must.Get(Open([]transform.Reference{reference}, k.opts))(t)
			err := store.Load(testrun.Context(t, time.Minute))
			wantKeys(t, store, err, c.err, c.has, c.hasNot)
		})
	}
}

// Records of an aborted transaction are not part of a set, and a transaction marker at the end of the topic does not
// block the loading.
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
	must.Do(t, store.Load(testrun.Context(t, time.Minute)))
	set := store.Sets()["s"]
	expect.That(t, set.Has("committed") && !set.Has("aborted"), "committed %v, aborted %v", set.Has("committed"), set.Has("aborted"))
}

func TestWatch_S0_8_follows_a_topic(t *testing.T) {
	k := connect(t)
	topic := k.topic(t, "compact")
	k.send(t, topic, `1={"code":"W2"}`)
	store := must.Get(Open([]transform.Reference{{Name: "zones", Topic: topic, Column: "code"}}, k.opts))(t)
	must.Do(t, store.Load(testrun.Context(t, time.Minute)))
	k.send(t, topic, `2={"code":"W3"}`, "1") // between loading and following
	ctx, stop := context.WithCancel(testrun.Context(t, time.Minute))
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
	until("keys that were written meanwhile", func() bool { return set.Has("W3") && !set.Has("W2") })
	k.send(t, topic, `3={"code":"W4"}`)
	until("a new key", func() bool { return set.Has("W4") })
	k.send(t, topic, `3={"code":{}}`, `4={"code":"W5"}`)
	until("the one after a record without a key", func() bool { return set.Has("W5") })
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
