package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// table is the sink table of one pipeline.
type table struct {
	p  *pipe
	db *pgx.Conn
}

// withTable creates a pipeline with a sink table. The table is created by the printed statements of `sink ddl`.
func withTable(t *testing.T, server *postgis.Server, bound time.Duration, change ...func(*settings)) *table {
	t.Helper()
	dsn := server.Database(t)
	file := filepath.Join(t.TempDir(), "dsn")
	must.Do(t, os.WriteFile(file, []byte(dsn), 0o600))
	sink := fmt.Sprintf("postgis: { dsn_file: %q, table: places, timeout: 5s, breaker: { preset: standard, failures: 3, cooldown: 1s, successes: 1 } }", file)
	p := newPipe(t, bound, append(change, func(s *settings) {
		s.More += fmt.Sprintf("sink: { key: %s, %s }\n", cmp.Or(s.SinkKey, "record_key"), sink)
	})...)
	ddl := p.runConsumer("sink", "ddl")
	db := must.Get(pgx.Connect(p.ctx, dsn))(t)
	must.Get(db.Exec(p.ctx, ddl.Stdout))(t)
	must.Do(t, db.Close(p.ctx))
	p.ensure()
	return &table{p: p, db: connect(p.ctx, t, dsn)}
}

func connect(ctx context.Context, t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	db := must.Get(pgx.Connect(ctx, dsn))(t)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(ctx)) })
	return db
}

// tableRow is the content of a row, or of the output that belongs to the row.
type tableRow struct {
	Level int
	Place string
	Point string
}

func (tab *table) rows() map[string]tableRow {
	tab.p.t.Helper()
	rows := must.Get(tab.db.Query(tab.p.ctx, `select id, level, place_name #>> '{}', st_astext(geom) from places`))(tab.p.t)
	out := map[string]tableRow{}
	var key string
	var s tableRow
	must.Get(pgx.ForEachRow(rows, []any{&key, &s.Level, &s.Place, &s.Point}, func() error { out[key] = s; return nil }))(tab.p.t)
	return out
}

// newestOutputs returns the last output of each key. It omits deleted keys.
func (tab *table) newestOutputs() map[string]tableRow {
	tab.p.t.Helper()
	out := map[string]tableRow{}
	for _, r := range tab.p.read(tab.p.topics.Output) {
		if r.Value == nil {
			delete(out, string(r.Key))
			continue
		}
		var f struct {
			Properties struct {
				Level int
				Place string `json:"place_name"`
			}
			Geometry struct{ Coordinates []float64 }
		}
		must.Do(tab.p.t, json.Unmarshal(r.Value, &f))
		c := f.Geometry.Coordinates
		out[string(r.Key)] = tableRow{f.Properties.Level, f.Properties.Place, fmt.Sprintf("POINT(%v %v)", c[0], c[1])}
	}
	return out
}

// verify compares the table with the output topic.
func (tab *table) verify() {
	tab.p.t.Helper()
	got, want := tab.rows(), tab.newestOutputs()
	expect.That(tab.p.t, len(got) == len(want), "%d rows, the output topic has %d keys", len(got), len(want))
	for key, w := range want {
		expect.That(tab.p.t, got[key] == w, "%s: the table has %+v, the output topic %+v", key, got[key], w)
	}
}

// S0-6, S2-4, S3-1: consumers are killed at any moment, some of them between the commits of the database and of Kafka.
// The table equals the output topic: no row is missing or stale.
func TestSinkKilled_S0_6_S2_4_S3_1(t *testing.T) {
	parallel(t, testrun.Proof, needRealKafka)
	tab := withTable(t, postgis.Need(t), 4*time.Minute, shortSession, func(s *settings) { s.Partitions = 6 })
	p := tab.p
	const n, levels, kills = 400, 4, 4
	all := ids("k", n)
	for i, id := range all {
		if i%5 == 0 {
			p.places.Script(id, misbehave.Times(1+i%3, misbehave.Status(503))...) // older levels wait while newer ones arrive
		}
	}
	output := p.log.Tail(t, p.topics.Output)
	for level := range levels {
		var records []*kgo.Record
		for i, id := range all {
			r := &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
			if level == levels-1 && i%7 == 0 {
				r.Value = nil // deleted at the end
			}
			records = append(records, r)
		}
		p.sendRecords(records...)
	}
	p.killWhileProducing(output, kills, n, n/8)
	p.drain()
	p.verify()
	tab.verify()
	expect.Equal(t, len(tab.rows()), n-(n+6)/7, "rows")
}

// S3-5: while the database is down, no record becomes a dead letter. All records are written once the database is back.
func TestSinkOutage_S3_5(t *testing.T) {
	parallel(t, testrun.Proof)
	server, err := postgis.Own(t.Context())
	postgis.OrSkip(t, err)
	t.Cleanup(func() { _ = server.Close() })
	tab := withTable(t, server, 2*time.Minute)
	p := tab.p
	const n = 300
	all := ids("o", n)
	consumer := p.start("one")
	output := p.log.Tail(t, p.topics.Output)
	p.send(all[:n/3]...)
	output.UntilCount(p.ctx, t, "the first third", n/3)
	dsn := tab.db.Config().ConnString()
	must.Do(t, server.Crash())
	p.send(all[n/3:]...)
	eventually.Until(p.ctx, t, "unconsumed records", func() (bool, string) {
		lag := p.state().Lag
		return lag > 0, fmt.Sprint("lag ", lag)
	})
	must.Do(t, server.Restart(p.ctx))
	output.UntilCount(p.ctx, t, "all", n)
	p.stop(consumer)
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
	tab.db = connect(p.ctx, t, dsn)
	tab.verify()
}

// debezium encodes a value as Debezium does with Kafka Connect's JSON converter and its schema.
func debezium(t *testing.T, payload any) []byte {
	t.Helper()
	return must.Get(json.Marshal(map[string]any{"schema": map[string]any{"type": "struct", "optional": false}, "payload": payload}))(t)
}

func parcelKey(t *testing.T, pk int) []byte {
	t.Helper()
	return debezium(t, map[string]int{"pk": pk})
}

// parcelRow is a row of the captured table, with the point of featureAt.
func parcelRow(pk, level int) map[string]any {
	return map[string]any{"pk": pk, "id": fmt.Sprint(pk), "level": level, "geometry": map[string]any{"wkb": "AQEAAAAAAAAAAAAnQM3MzMzMDEhA", "srid": 4326}}
}

// parcelChanges returns Debezium's records for these changes: four rows are created and one is read by a snapshot; one
// is updated, one gets another primary key, one is deleted; and the table is truncated.
func parcelChanges(t *testing.T, topic string) (out []*kgo.Record) {
	t.Helper()
	send := func(key, value []byte) { out = append(out, &kgo.Record{Topic: topic, Key: key, Value: value}) }
	event := func(op string, before, after map[string]any) []byte { // before and after may be nil for null
		return debezium(t, map[string]any{"op": op, "before": before, "after": after, "source": map[string]any{"lsn": 7}})
	}
	for pk := 1; pk <= 4; pk++ {
		send(parcelKey(t, pk), event("c", nil, parcelRow(pk, 1)))
	}
	send(parcelKey(t, 5), event("r", nil, parcelRow(5, 1)))
	send(parcelKey(t, 2), event("u", parcelRow(2, 1), parcelRow(2, 2)))
	for _, gone := range []int{3, 4} {
		send(parcelKey(t, gone), event("d", parcelRow(gone, 1), nil))
		send(parcelKey(t, gone), nil) // Debezium's tombstone
	}
	send(parcelKey(t, 30), event("c", nil, parcelRow(30, 1)))
	send(nil, event("t", nil, nil))
	return out
}

// S0-6, C-1: Debezium's change events make the sink table equal the captured table, whether rows are identified by the
// primary key or by the feature ID. Tombstones have no content and still delete the right rows.
func TestSinkDebezium_S0_6_C1(t *testing.T) {
	parallel(t, testrun.Nightly)
	server := postgis.Need(t)
	for _, key := range []string{"key.pk", "feature_id"} {
		t.Run(key, func(t *testing.T) {
			tab := withTable(t, server, 2*time.Minute, func(s *settings) {
				s.SinkKey, s.Source = key, "format: debezium\n  debezium: { serialization: json }\n  row: { id: pk }"
			})
			sent := parcelChanges(t, tab.p.topics.Source)
			tab.p.sendRecords(sent...)
			tab.p.drain()
			tab.wantLevels("1:1 2:2 5:1 30:1")
			tab.p.sendRecords(sent[:4]...) // the connector restarts, so deleted rows are created again
			tab.p.sendRecords(&kgo.Record{Topic: tab.p.topics.Source, Key: parcelKey(t, 30)})
			tab.p.drain()
			tab.wantLevels("1:1 2:1 3:1 4:1 5:1")
			deadLetters := tab.p.read(tab.p.topics.DLQ)
			expect.That(t, len(deadLetters) == 1 && value(deadLetters[0], header.KeyErrorCode) == "null_key", "%d dead letters, want one for the truncate", len(deadLetters))
			wantTotals(t, tab.p.verify(), len(sent)+5, conservation.Place{Output: 13, Closed: 3, DeadLetters: 1})
		})
	}
}

// wantLevels compares IDs and levels of all rows.
func (tab *table) wantLevels(want string) {
	tab.p.t.Helper()
	var got string
	must.Do(tab.p.t, tab.db.QueryRow(tab.p.ctx, "select coalesce(string_agg(id || ':' || level, ' ' order by length(id), id), '') from places").Scan(&got))
	expect.That(tab.p.t, got == want, "the table has %s, want %s", got, want)
}

// tableReport is the output of `consumer verify table -o json`.
type tableReport struct {
	Verdict  string
	Rows     int
	Keys     int
	Found    map[string]int
	Repaired int
	Findings []struct{ Kind, Key, Output, Source, Guard string }
	Notes    []string
}

// verifyTable runs the command and checks its exit code.
func (tab *table) verifyTable(code int, args ...string) (c tableReport) {
	tab.p.t.Helper()
	r := tab.p.run("consumer", append([]string{"verify", "table", "-c", tab.p.file, "-o", "json"}, args...)...)
	must.That(tab.p.t, r.Code == code, "exit code %d, want %d: %s", r.Code, code, r)
	must.Do(tab.p.t, json.Unmarshal([]byte(r.Stdout), &c))
	return c
}

func (tab *table) sql(text string) {
	tab.p.t.Helper()
	must.Get(tab.db.Exec(tab.p.ctx, text))(tab.p.t)
}

// S0-6: every kind of difference between table and topic is found, named with its positions, and repaired. Rows that are
// newer than the topic stay.
func TestSinkVerify_S0_6(t *testing.T) {
	parallel(t, testrun.Nightly)
	server := postgis.Need(t)
	for _, key := range []string{"record_key", "feature_id"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			tab := withTable(t, server, 2*time.Minute, func(s *settings) { s.SinkKey = key })
			p := tab.p
			all := ids("v", 40)
			p.send(all...)
			p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte(all[0])})
			p.drain()
			c := tab.verifyTable(0)
			must.That(t, c.Verdict == "proven" && c.Rows == 39 && c.Keys == 40 && len(c.Found) <= 0, "%+v", c)
			tab.sql("delete from places where id in ('v-1', 'v-2')")
			tab.sql("delete from places_switchback where key = 'v-3'")
			tab.sql("update places set level = 99 where id = 'v-4'")
			tab.sql("update places set geom = st_translate(geom, 0, 0.0001) where id = 'v-5'")
			tab.sql("update places_switchback set content_hash = 'sha256:00', source_offset = -1, source = regexp_replace(source, '[0-9]+$', '0') where key = 'v-6'; update places set level = 1 where id = 'v-6'")
			tab.sql("insert into places select 'nobody', geom, level, place_name from places where id = 'v-7'; insert into places select 'v-0', geom, level, place_name from places where id = 'v-7'")
			tab.sql("update places_switchback set content_hash = 'sha256:00', source_offset = source_offset + 1000, source = regexp_replace(source, '[0-9]+$', '100000') where key = 'v-8'; update places set level = 77 where id = 'v-8'")
			want := map[string]int{"missing": 3, "changed": 2, "stale": 1, "extra": 2, "ahead": 1}
			c = tab.verifyTable(4)
			must.That(t, c.Verdict == "violated" && maps.Equal(c.Found, want) && c.Repaired == 0, "%+v, want %v", c, want)
			for _, f := range c.Findings {
				expect.That(t, f.Kind == "extra" || strings.HasPrefix(f.Output, p.topics.Output+"/") && strings.HasPrefix(f.Source, p.topics.Source+"/"), "finding without positions: %+v", f)
			}
			c = tab.verifyTable(0, "--repair")
			expect.That(t, maps.Equal(c.Found, want) && c.Repaired == 8, "the repair: %+v", c)
			c = tab.verifyTable(0)
			expect.That(t, c.Verdict == "unknown" && maps.Equal(c.Found, map[string]int{"ahead": 1}), "after the repair: %+v", c)
			expect.Equal(t, tab.rows()["v-8"].Level, 77, "level of the row that is newer than the topic")
			tab.sql("update places set level = 3 where id = 'v-8'")
			tab.verify()
		})
	}
}

// S0-6: while consumers write, the comparison reports no false violation and a repair changes nothing.
func TestSinkVerify_S0_6_whileThePipelineRuns(t *testing.T) {
	parallel(t, testrun.Nightly)
	tab := withTable(t, postgis.Need(t), 2*time.Minute)
	p := tab.p
	const n, levels = 60, 5
	consumer := p.start("one")
	output := p.log.Tail(t, p.topics.Output)
	for level := range levels {
		p.sendAt(level, ids("r", n)...)
		expect.Equal(t, tab.verifyTable(0, "--repair").Repaired, 0, "repaired rows")
	}
	output.UntilCount(p.ctx, t, "outputs", n)
	eventually.Until(p.ctx, t, "no lag", func() (bool, string) { lag := p.state().Lag; return lag == 0, fmt.Sprint(lag) })
	p.stop(consumer)
	expect.Equal(t, tab.verifyTable(0).Verdict, "proven", "verdict at the end")
	tab.verify()
}
