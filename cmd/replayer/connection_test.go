package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// alone is a desk with a DLQ of other software and without a pipeline file; it gives the flags that name the broker.
func (d *desk) alone() []string {
	d.t.Helper()
	d.foreign()
	must.Do(d.t, os.Remove(d.file("pipeline.yaml")))
	return []string{"--brokers", d.brokers()[0]}
}

// topics is what the broker has, with the ends of each partition.
func (d *desk) topics() []string {
	d.t.Helper()
	ends := must.Get(kadm.NewClient(d.writer).ListEndOffsets(d.t.Context()))(d.t)
	var out []string
	ends.Each(func(o kadm.ListedOffset) {
		out = append(out, fmt.Sprint(o.Topic, " ", o.Partition, " ", o.Offset))
	})
	slices.Sort(out)
	return out
}

// unchanged fails if a topic was created or written to since before.
func (d *desk) unchanged(before []string) {
	d.t.Helper()
	after := d.topics()
	expect.That(d.t, slices.Equal(before, after), "the topics changed:\n%v\n%v", before, after)
}

// A DLQ is looked at with nothing but a broker and a topic, and nothing is made or written for it.
func TestAlone_C4_looks_without_a_pipeline_file(t *testing.T) {
	d := newDesk(t, true)
	at := d.alone()
	before := d.topics()
	d.want(cli.ExitDone, append(slices.Clone(at), "--topic", "orders-dlt", "groups")...).prints("NullPointerException", "boom 7").says("replayer show --brokers " + at[1] + " --topic orders-dlt dlq-")
	d.want(cli.ExitDone, append(slices.Clone(at), "list", "--topic", "orders-dlt", "-o", "ndjson", "--text", "boom")...)
	var entry dlq.EntryJSON
	d.decode(&entry)
	expect.That(t, entry.Dialect == "spring" && *entry.Source == (dlq.PositionJSON{Topic: "orders", Partition: 2, Offset: 77}), "%s", &d.out)
	show := append(slices.Clone(at), "show", "--topic", "orders-dlt", entry.ID)
	d.want(cli.ExitDone, append(slices.Clone(show), "-o", "json")...).prints(`"today": null`).hides("decode_error")
	d.want(cli.ExitDone, show...).prints(`{"a":1}`).hides("transform", "decoded feature")
	for _, command := range []string{"stats", "export", "index"} {
		d.want(cli.ExitDone, append(slices.Clone(at), command, "--topic", "orders-dlt")...)
	}
	d.want(cli.ExitDone, append(slices.Clone(at), "index", "--check", "--topic", "orders-dlt")...)
	d.unchanged(before)
}

func TestAlone_profile(t *testing.T) {
	d := newDesk(t, false)
	at := d.alone()
	d.want(cli.ExitUsage, "list", "--profile", "desk", "--topic", "orders-dlt")
	d.write("p.yaml", []byte("profiles:\n  desk: { brokers: ['"+at[1]+"'] }\n"))
	d.want(cli.ExitDone, "list", "--profiles", "p.yaml", "--profile", "desk", "--topic", "orders-dlt")
	d.want(cli.ExitUsage, "list", "--profiles", "p.yaml", "--profile", "prod", "--topic", "orders-dlt").says("the file has desk")
}

// What cannot be done without a pipeline file says so, and touches nothing.
func TestAlone_refuses_what_needs_a_pipeline(t *testing.T) {
	d := newDesk(t, false)
	at := d.alone()
	before := d.topics()
	d.want(cli.ExitUsage, append(slices.Clone(at), "edit", "--topic", "orders-dlt", "--id", "dlq-0-1", "--set", "a=b c")...)
	d.says("edit does not write to the DLQ of other software", "replayer replay --brokers "+at[1]+" --topic orders-dlt --id dlq-0-1 --set 'a=b c'")
	for words, args := range map[string][]string{
		"--topic: no DLQ is named":      {"list"},
		"no DLQ is named; give its":     {"replay"},
		"--target: to which topics":     {"acls", "--topic", "orders-dlt", "--principal", "User:x"},
		"--lost needs a pipeline":       {"reopen", "--topic", "orders-dlt", "--lost"},
		"use at least 1":                {"replay", "--topic", "orders-dlt", "--max-replays", "0"},
		"leave --origin out":            {"plan", "--topic", "orders-dlt", "-f", "p.plan", "--to", "a", "--origin", "b"},
		"--wait needs a pipeline":       {"replays", "--topic", "orders-dlt", "r1", "--wait"},
		"leave --brokers":               {"list", "-c", "pipeline.yaml", "--topic", "orders-dlt"},
		"is not a topic name":           {"list", "--topic", "orders/dlt"},
		"unknown dialect \"esperanto\"": {"list", "--topic", "orders-dlt", "--dialect", "esperanto"},
	} {
		d.want(cli.ExitUsage, append(slices.Clone(at), args...)...).says(words)
	}
	d.unchanged(before)
}

// A pipeline's own index of a topic and one without a pipeline do not answer for each other.
func TestAlone_the_index_of_a_pipeline_is_another(t *testing.T) {
	d := newDesk(t, false).fill()
	broker := d.brokers()[0]
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc", "--execute", "--reason", "x")
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--status", "discarded")
	d.want(cli.ExitNothing, "list", "--brokers", broker, "--topic", "features.dlq", "--status", "discarded")
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--status", "discarded")
}

// foreign makes a DLQ that Spring Kafka and a share group wrote into.
func (d *desk) foreign() {
	d.t.Helper()
	admin := kadm.NewClient(d.writer)
	must.Get(admin.CreateTopics(d.t.Context(), 1, 1, nil, "orders-dlt"))(d.t)
	header := func(name string, value []byte) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: value} }
	d.put(&kgo.Record{Topic: "features", Partition: 1, Key: []byte("k"), Value: fmt.Appendf(nil, square, "pointed-at")})
	pointer := func(offset string) *kgo.Record {
		return &kgo.Record{Topic: "orders-dlt", Timestamp: start, Headers: []kgo.RecordHeader{
			header("__dlq.errors.topic", []byte("features")), header("__dlq.errors.partition", []byte("1")), header("__dlq.errors.offset", []byte(offset)),
			header("__dlq.errors.group", []byte("share-1")), header("__dlq.errors.message", []byte("Offset rejected by client.")),
		}}
	}
	d.put(
		&kgo.Record{Topic: "orders-dlt", Timestamp: start, Key: []byte("o-1"), Value: []byte(`{"a":1}`), Headers: []kgo.RecordHeader{
			header("kafka_dlt-original-topic", []byte("orders")), header("kafka_dlt-original-partition", binary.BigEndian.AppendUint32(nil, 2)),
			header("kafka_dlt-original-offset", binary.BigEndian.AppendUint64(nil, 77)),
			header("kafka_dlt-exception-fqcn", []byte("a.ListenerExecutionFailedException")),
			header("kafka_dlt-exception-cause-fqcn", []byte("java.lang.NullPointerException")), header("kafka_dlt-exception-message", []byte("boom 7")),
		}},
		pointer("0"), pointer("9"),
	)
}
