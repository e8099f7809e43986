package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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

// The DLQ of other software is read as its headers say; a pointer brings the record that it points
// at, or says that it is gone.
func TestForeign_C4_list_reads_a_DLQ_of_other_software(t *testing.T) {
	d := newDesk(t, false)
	d.foreign()
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--topic", "orders-dlt", "--dialect", "auto")
	lines := strings.Split(strings.TrimSpace(d.out.String()), "\n")
	must.That(t, len(lines) == 3, "%d lines: %s", len(lines), &d.out)
	var spring, pointer, gone dlq.EntryJSON
	for i, to := range []*dlq.EntryJSON{&spring, &pointer, &gone} {
		must.Do(t, json.Unmarshal([]byte(lines[i]), to))
	}
	expect.That(t, spring.Dialect == "spring" && *spring.Source == (dlq.PositionJSON{Topic: "orders", Partition: 2, Offset: 77}) && spring.Error.CauseClass == "java.lang.NullPointerException" && spring.Error.Class == "a.ListenerExecutionFailedException" && spring.Error.Code == "NullPointerException" && spring.Status == "pending" && spring.Key == "o-1",
		"spring: %s", lines[0])
	expect.That(t, pointer.Dialect == "share-group" && pointer.Value == fmt.Sprintf(square, "pointed-at") && pointer.Key == "k", "pointer: %s", lines[1])
	expect.That(t, gone.Value == nil && gone.Source.Offset == 9, "pointer to nothing: %s", lines[2])
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "--topic", "orders-dlt", "-o", "json", gone.ID)
	d.prints("the payload is gone")
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--topic", "orders-dlt", "-o", "table")
	d.prints("NullPointerException", "boom <n>")
}

// A dialect that the operator names is taken for all letters, and the index is made anew for it.
func TestForeign_dialect_by_hand(t *testing.T) {
	d := newDesk(t, false)
	d.foreign()
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--topic", "orders-dlt")
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--topic", "orders-dlt", "--dialect", "spring", "--limit", "2")
	d.counts(2, `"dialect":"spring"`)
	d.want(cli.ExitUsage, "list", "-c", "pipeline.yaml", "--dialect", "esperanto")
	d.want(cli.ExitRuntime, "list", "-c", "pipeline.yaml", "--topic", "nowhere-dlt")
}
