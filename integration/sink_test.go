package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
)

// table is the sink of one pipeline.
type table struct {
	p  *pipe
	db *pgx.Conn
}

// withTable makes a pipeline that writes a table, which is made by the statements that users get.
func withTable(t *testing.T, server *postgis.Server, bound time.Duration, change ...func(*settings)) *table {
	t.Helper()
	dsn := server.Database(t)
	file := filepath.Join(t.TempDir(), "dsn")
	must.Do(t, os.WriteFile(file, []byte(dsn), 0o600))
	sink := fmt.Sprintf("postgis: { dsn_file: %q, table: places, timeout: 5s, breaker: { preset: standard, failures: 3, cooldown: 1s, successes: 1 } }", file)
	p := newPipe(t, bound, append(change, func(s *settings) {
		s.More += fmt.Sprintf("sink: { key: %s, %s }\n", cmp.Or(s.SinkKey, "record_key"), sink)
	})...)
	ddl := p.does("sink", "ddl")
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

// state is what a row says, and what an output says.
type placed struct {
	Level int
	Place string
	Point string
}

func (tab *table) rows() map[string]placed {
	tab.p.t.Helper()
	rows := must.Get(tab.db.Query(tab.p.ctx, `select id, level, place_name #>> '{}', st_astext(geom) from places`))(tab.p.t)
	out := map[string]placed{}
	var key string
	var s placed
	must.Get(pgx.ForEachRow(rows, []any{&key, &s.Level, &s.Place, &s.Point}, func() error { out[key] = s; return nil }))(tab.p.t)
	return out
}

// newest is what the output topic says of each key, its last word being the newest. A deleted key is not in it.
func (tab *table) newest() map[string]placed {
	tab.p.t.Helper()
	out := map[string]placed{}
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
		out[string(r.Key)] = placed{f.Properties.Level, f.Properties.Place, fmt.Sprintf("POINT(%v %v)", c[0], c[1])}
	}
	return out
}

// verify holds the table against the output topic.
func (tab *table) verify() {
	tab.p.t.Helper()
	got, want := tab.rows(), tab.newest()
	expect.That(tab.p.t, len(got) == len(want), "%d rows, the output topic has %d keys", len(got), len(want))
	for key, w := range want {
		if got[key] != w {
			tab.p.t.Errorf("%s: the table has %+v, the output topic %+v", key, got[key], w)
		}
	}
}

// S0-6, S2-4, S3-1: consumers die at any moment, some of them between the commit of the database and Kafka's. The table is
// what the output topic says: nothing of it is lost, or older than it.
func TestSinkKilled_S0_6_S2_4_S3_1(t *testing.T) {
	beside(t, testrun.Proof, needRealKafka)
	tab := withTable(t, postgis.Need(t), 4*time.Minute, killed, func(s *settings) { s.Partitions = 6 })
	p := tab.p
	const n, levels, kills = 400, 4, 4
	all := ids("k", n)
	for i, id := range all {
		if i%5 == 0 {
			p.places.Script(id, misbehave.Times(1+i%3, misbehave.Status(503))...) // older levels wait while newer ones come
		}
	}
	output := p.log.Tail(t, p.topics.Output)
	for level := range levels {
		var records []*kgo.Record
		for i, id := range all {
			r := &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
			if level == levels-1 && i%7 == 0 {
				r.Value = nil // ends deleted
			}
			records = append(records, r)
		}
		p.sendRecords(records...)
	}
	p.killAmid(output, kills, n, n/8)
	p.drain()
	p.verify()
	tab.verify()
	expect.Equal(t, len(tab.rows()), n-(n+6)/7, "rows")
}

// S3-5: a database that is gone for a while is no fault of a record: none becomes a dead letter, and all are written once it
// is back.
func TestSinkOutage_S3_5(t *testing.T) {
	beside(t, testrun.Proof)
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
	eventually.Until(p.ctx, t, "records that are held", func() (bool, string) {
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
