package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
)

// No advice about a DLQ of other software names a command that knows nothing of it, and a list says of how many it shows the first.
func TestWords_S4_6_ofOtherSoftware(t *testing.T) {
	d := newDesk(t, true)
	d.fill()
	d.want(cli.ExitRuntime, "groups", "-c", "pipeline.yaml", "--topic", "nope", "--index", ":memory:")
	if said := d.err.String(); !strings.Contains(said, "topic does not exist: nope; see the name given with --topic") || strings.Contains(said, "ensure") {
		t.Errorf("%s", said)
	}
	d.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--topic", "features.dlq")
	if said := d.err.String(); !strings.Contains(said, "--topic names a DLQ without a pipeline here: name its brokers with --brokers") {
		t.Errorf("%s", said)
	}
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--limit", "2")
	if said := d.err.String(); !strings.Contains(said, "2 of 5 dead letters") {
		t.Errorf("%s", said)
	}
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml")
	if said := d.err.String(); strings.Contains(said, " of 5 dead letters") && strings.Contains(said, "5 of 5 dead letters,") {
		t.Errorf("%s", said)
	}
}

// A header that cannot be understood is marked, and does not hide what the record died of.
func TestWords_S4_6_aListKeepsTheMessage(t *testing.T) {
	d := newDesk(t, false)
	d.foreign()
	header := func(name, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: []byte(value)} }
	d.put(&kgo.Record{Topic: "orders-dlt", Timestamp: start, Key: []byte("o-2"), Value: []byte("{}"), Headers: []kgo.RecordHeader{
		header("kafka_dlt-original-topic", "orders"), header("kafka_dlt-original-partition", "none"), header("kafka_dlt-exception-message", "boom 8"),
	}})
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--topic", "orders-dlt", "-o", "table")
	if said := d.out.String(); !strings.Contains(said, "! boom 8") || strings.Contains(said, "! boom 7") {
		t.Errorf("%s", said)
	}
}
