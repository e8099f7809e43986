package integration

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// connector writes records as Debezium does with one of Kafka Connect's converters.
type connector struct {
	key   func(pk int) []byte
	event func(op string, before, after map[string]any) []byte // rows; nil for null
}

// wkbPoint is the point of featureAt.
func wkbPoint() []byte {
	b := binary.LittleEndian.AppendUint32([]byte{1}, 1)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(11.5))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(48.1))
}

// parcelRow is a row of the table that the connector watches.
func parcelRow(pk, level int) map[string]any {
	return map[string]any{"pk": pk, "id": fmt.Sprint(pk), "level": level}
}

// jsonConnector writes JSON with its schema beside it, as the JSON converter does by default.
func jsonConnector(t *testing.T) connector {
	t.Helper()
	text := func(payload any) []byte {
		out, err := json.Marshal(map[string]any{"schema": map[string]any{"type": "struct", "optional": false}, "payload": payload})
		must.That(t, err == nil, "%v", err)
		return out
	}
	row := func(r map[string]any) any {
		if r == nil {
			return nil
		}
		r["geometry"] = map[string]any{"wkb": base64.StdEncoding.EncodeToString(wkbPoint()), "srid": 4326}
		return r
	}
	return connector{
		key: func(pk int) []byte { return text(map[string]any{"pk": pk}) },
		event: func(op string, before, after map[string]any) []byte {
			return text(map[string]any{"op": op, "before": row(before), "after": row(after), "source": map[string]any{"lsn": 7}})
		},
	}
}

const (
	parcelKeySchema = `{"type":"record","name":"Key","namespace":"db.public.parcel","fields":[{"name":"pk","type":"int"}]}`
	parcelSchema    = `{"type":"record","name":"Envelope","namespace":"db.public.parcel","fields":[
		{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"pk","type":"int"},{"name":"id","type":"string"},{"name":"level","type":"int"},
			{"name":"geometry","type":["null",{"type":"record","name":"Geometry","namespace":"io.debezium.data.geometry","fields":[{"name":"wkb","type":"bytes"},{"name":"srid","type":["null","int"]}]}]}]}]},
		{"name":"after","type":["null","Value"]},{"name":"op","type":"string"}]}`
	parcelKeyID, parcelID = 21, 22
)

// avroConnector writes Avro with the schemas of a registry.
func avroConnector(t *testing.T, registry *srfake.Registry) connector {
	t.Helper()
	encode := func(id int, text string) func(any) []byte {
		registry.SeedSchema(fmt.Sprintf("parcel-%d", id), 1, id, sr.Schema{Schema: text, Type: sr.TypeAvro})
		schema := must.Get(avro.Parse(text))(t)
		return func(native any) []byte {
			out := must.Get(schema.Encode(envelope.AppendConfluent(nil, id), native))(t)
			return out
		}
	}
	key, value := encode(parcelKeyID, parcelKeySchema), encode(parcelID, parcelSchema)
	row := func(r map[string]any) any {
		if r == nil {
			return nil
		}
		r["geometry"] = goavro.Union("io.debezium.data.geometry.Geometry", map[string]any{"wkb": wkbPoint(), "srid": goavro.Union("int", 4326)})
		return goavro.Union("db.public.parcel.Value", r)
	}
	return connector{
		key: func(pk int) []byte { return key(map[string]any{"pk": pk}) },
		event: func(op string, before, after map[string]any) []byte {
			return value(map[string]any{"op": op, "before": row(before), "after": row(after)})
		},
	}
}

// changes are records of a life: four rows are made and one is read by a snapshot, one is updated, one gets another primary key, one is
// deleted, and the table is truncated.
func (c connector) changes(topic string) []*kgo.Record {
	var out []*kgo.Record
	send := func(key, value []byte) { out = append(out, &kgo.Record{Topic: topic, Key: key, Value: value}) }
	for pk := 1; pk <= 4; pk++ {
		send(c.key(pk), c.event("c", nil, parcelRow(pk, 1)))
	}
	send(c.key(5), c.event("r", nil, parcelRow(5, 1)))
	send(c.key(2), c.event("u", parcelRow(2, 1), parcelRow(2, 2)))
	for _, gone := range []int{3, 4} {
		send(c.key(gone), c.event("d", parcelRow(gone, 1), nil))
		send(c.key(gone), nil) // the tombstone of Debezium
	}
	send(c.key(30), c.event("c", nil, parcelRow(30, 1)))
	send(nil, c.event("t", nil, nil))
	return out
}

// S0-6, C-1: change events of Debezium, through JSON and through Avro with a registry, leave the table as the watched one is: rows are found by
// the primary key or by the feature's id, and tombstones, which have neither, find them too.
func TestSinkDebezium_S0_6_C1(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	server := postgis.Need(t)
	for _, c := range []struct{ name, sinkKey, serialization string }{
		{"json_by_path", "key.pk", "json"},
		{"avro_by_path", "key.pk", "avro"},
		{"avro_by_feature", "feature_id", "avro"},
	} {
		t.Run(c.name, func(t *testing.T) {
			registry := registryServer(t, 0)
			tab := withTable(t, server, 2*time.Minute, func(s *settings) {
				s.SinkKey = c.sinkKey
				s.Source = fmt.Sprintf("format: debezium\n  debezium: { serialization: %s }\n  row: { id: pk }", c.serialization)
				s.More = fmt.Sprintf("schema_registry: { url: %q, timeout: 2s }\n", registry.URL())
			})
			from := jsonConnector(t)
			if c.serialization == "avro" {
				from = avroConnector(t, registry)
			}
			sent := from.changes(tab.p.topics.Source)
			tab.p.sendRecords(sent...)
			tab.p.drain()
			tab.wantLevels("1:1 2:2 5:1 30:1")
			tab.p.sendRecords(sent[:4]...) // the connector starts again: what was deleted is made again
			tab.p.sendRecords(&kgo.Record{Topic: tab.p.topics.Source, Key: from.key(30)})
			tab.p.drain()
			tab.wantLevels("1:1 2:1 3:1 4:1 5:1")
			letters := tab.p.read(tab.p.topics.DLQ)
			expect.That(t, len(letters) == 1 && value(letters[0], header.KeyErrorCode) == "null_key", "%d dead letters, want that of the truncate", len(letters))
			wantTotals(t, tab.p.verify(), len(sent)+5, conservation.Place{Output: 13, Closed: 3, Letters: 1})
		})
	}
}

// wantLevels compares ids and levels of all rows.
func (tab *table) wantLevels(want string) {
	tab.p.t.Helper()
	var got string
	if err := tab.db.QueryRow(tab.p.ctx, "select coalesce(string_agg(id || ':' || level, ' ' order by length(id), id), '') from places").Scan(&got); err != nil {
		tab.p.t.Fatal(err)
	}
	if got != want {
		tab.p.t.Errorf("the table has %s, want %s", got, want)
	}
}
