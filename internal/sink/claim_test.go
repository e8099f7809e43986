package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// byFeature makes a table whose rows are found by feature ids.
func byFeature(t *testing.T) *bench {
	b := open(t, postgis.Need(t), "")
	b.exec("drop table parcels, parcels_switchback")
	b.refound(config.SinkKeyFeature)
	ddl := must.Get(DDL(b.cfg))(t)
	b.exec(ddl)
	return b
}

// refound opens the sink again, with another rule for its rows.
func (b *bench) refound(key config.SinkKey) {
	b.t.Helper()
	b.cfg.Sink.Key = key
	s := must.Get(Open(b.cfg.Sink.PostGIS, Options{Key: key, Mapping: b.cfg.Transform, Logger: b.log(), Classify: classify.Of}))(b.t)
	b.t.Cleanup(s.Close)
	b.Sink = s
}

// of makes the row of a record key whose feature has an id, "" for a delete.
func (b *bench) of(key, id string, offset int64) *Row {
	properties := fmt.Sprintf(`{"name":"%s of %s at %d"}`, id, key, offset)
	if id == "" {
		properties = ""
	}
	r := b.row(key, 0, offset, properties, point)
	if r.Key = GuardKey([]byte(key)); id != "" {
		r.RowKey = []byte(id)
	}
	return r
}

// named gives a row another record key.
func named(r *Row, key string) *Row {
	r.Key = GuardKey([]byte(key))
	return r
}

func (b *bench) names() string {
	return b.ask("select coalesce(string_agg(id || ': ' || name, ', ' order by id), 'none') from parcels")
}

// S0-6: rows are found by feature ids. A tombstone finds its row, a row whose id changes moves, and what is older changes nothing.
func TestSink_S0_6_rowsOfFeatureIds(t *testing.T) {
	b := byFeature(t)
	notes, err := b.Prepare(t.Context())
	must.That(t, err == nil && len(notes) == 0, "%v, %v", notes, err)
	const binary = "\x00\x00\x00\x00\x01\x0e" // a key of Avro
	for i, step := range []struct {
		row  *Row
		want string
	}{
		{b.of("k1", "A", 5), "A: A of k1 at 5"},
		{b.of("k1", "A", 5), "A: A of k1 at 5"},
		{b.of("k1", "B", 6), "B: B of k1 at 6"}, // the old row goes
		{b.of("k1", "A", 4), "B: B of k1 at 6"}, // late
		{b.of("k1", "", 3), "B: B of k1 at 6"},
		{named(b.of("bin", "A", 1), binary), "A: A of bin at 1, B: B of k1 at 6"},
	} {
		b.must(step.row)
		got := b.names()
		must.That(t, got == step.want, "step %d: %s, want %s", i, got, step.want)
	}
	b.must(b.of("k1", "", 7))
	check.Equal(t, b.names(), "A: A of bin at 1", "after the tombstone")
	b.must(b.of("k1", "B", 6)) // what the tombstone covers stays deleted
	b.must(named(b.of("bin", "", 2), binary))
	check.Equal(t, b.names(), "none", "after both tombstones")
}

// S0-6: a row belongs to one record key. Another one is refused, alone in its batch and for a while, and gets it once it is free.
func TestSink_S0_6_aRowHasOneRecordKey(t *testing.T) {
	b := byFeature(t)
	b.must(b.of("k1", "A", 5))
	errs := b.together(b.of("k0", "C", 1), b.of("k2", "A", 9), b.of("k3", "D", 1))
	check.That(t, errs[0] == nil && errs[2] == nil, "the others: %v, %v", errs[0], errs[2])
	f := classify.Of(errs[1])
	_, is := errors.AsType[*claimError](errs[1])
	check.That(t, is && f.Code == classify.CodeDBConstraint && f.Class == classify.RetryBackoff, "%v is %s, %s", errs[1], f.Code, f.Class)
	check.Equal(t, b.names(), "A: A of k1 at 5, C: C of k0 at 1, D: D of k3 at 1")
	b.must(b.of("k1", "B", 6))
	b.must(b.of("k2", "A", 9))
	check.Equal(t, b.names(), "A: A of k2 at 9, B: B of k1 at 6, C: C of k0 at 1, D: D of k3 at 1")
	b.must(b.of("k1", "", 7))
	check.Equal(t, b.names(), "A: A of k2 at 9, C: C of k0 at 1, D: D of k3 at 1", "a delete took another key's row")
	nowhere := b.of("k4", "E", 1)
	nowhere.RowKey = []byte{0}
	err := b.write(nowhere)
	check.That(t, classify.Of(err).Code == classify.CodeMissingRequired, "an id that finds no row: %v", err)
}

// S0-6: many writers of two instances move rows about, in every order and twice: each key ends at the row of its newest event, and no
// other row is left.
func TestSink_S0_6_movedRowsLeaveNothingBehind(t *testing.T) {
	one := byFeature(t)
	first := one.Sink
	one.refound(config.SinkKeyFeature)
	const keys, versions = 30, 8
	var rows []*Row
	for k := range keys {
		for v := range versions {
			id := fmt.Sprintf("%02d-%d", k, v%3)
			if v == versions-1 && k%5 == 0 {
				id = ""
			}
			rows = append(rows, one.of(fmt.Sprint("k", k), id, int64(v)))
		}
	}
	writeShuffled(t, rows, first, one.Sink)
	check.Equal(t, one.ask("select count(*) || ' ' || count(*) filter (where name like '% at 7' and id like '%-1') from parcels"), "24 24", "rows, and those in their newest state")
}

// rekey takes the table to another rule, by which each key leads to the row of a map.
func (b *bench) rekey(key config.SinkKey, leads map[string]string, execute bool) (Rekeyed, error) {
	cfg := *b.cfg
	cfg.Sink.Key = key
	return Rekey(b.t.Context(), &cfg, Rekeying{Execute: execute, Fill: func(ctx context.Context, of *Guarded) error {
		of.limit = 3 // so that there are pages
		return of.Each(ctx, func(old string) error {
			if leads[old] == "" {
				return nil
			}
			return errors.Join(of.Add(ctx, old, old, "before"), of.Add(ctx, old, old, leads[old]))
		})
	}})
}

// S0-6: a table with rows is taken from record keys to feature ids, all or nothing. Afterwards events move and delete those rows, and
// what is older than they are is still refused.
func TestRekey_S0_6_takesATableWithRows(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	leads := map[string]string{}
	for i := range 8 {
		key := fmt.Sprint("k", i)
		leads[key] = fmt.Sprint("f", i)
		b.must(b.row(key, 0, 10, fmt.Sprintf(`{"name":%q}`, key), point))
	}
	b.must(b.row("k7", 0, 11, "", point))
	before := b.names()
	for says, broken := range map[string]map[string]string{"lead nowhere": {"k3": ""}, "by the key of another": {"k3": "f2"}} {
		changed := maps.Clone(leads)
		maps.Copy(changed, broken)
		_, err := b.rekey(config.SinkKeyFeature, changed, true)
		_, is := errors.AsType[*RekeyError](err)
		check.That(t, is && strings.Contains(err.Error(), says) && strings.Contains(err.Error(), "k3"), "%s: %v", says, err)
	}
	done, err := b.rekey(config.SinkKeyFeature, leads, false)
	if err != nil || done.Rows != 7 || done.Keys != 8 || b.names() != before {
		t.Fatalf("the dry run: %+v, %v, %s", done, err, b.names())
	}
	if done, err = b.rekey(config.SinkKeyFeature, leads, true); err != nil || done.Rows != 7 {
		t.Fatalf("%+v, %v", done, err)
	}
	if again, err := b.rekey(config.SinkKeyFeature, leads, true); err != nil || !again.Unchanged {
		t.Errorf("again: %+v, %v", again, err)
	}
	wantHold(t, b.write(b.row("k0", 0, 12, `{"name":"by the old rule"}`, point)), Dependency, "consumer sink rekey")
	b.refound(config.SinkKeyFeature)
	b.must(b.of("k0", "f0", 9), b.of("k1", "", 12), b.of("k2", "moved", 12), b.of("k3", "f3", 12), b.of("k7", "f7", 10))
	want := "f0: k0, f3: f3 of k3 at 12, f4: k4, f5: k5, f6: k6, moved: moved of k2 at 12"
	check.Equal(t, b.names(), want)
	if _, err := b.rekey(config.SinkKeyRecord, leads, true); err == nil || !strings.Contains(err.Error(), "cannot go back") {
		t.Errorf("back to the record key: %v", err)
	}
}

// Who does not own the tables is told so, and nothing is changed.
func TestRekey_S4_3_namesThePrivilege(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.must(b.row("k", 0, 1, `{"name":"x"}`, point))
	role := b.role("select, insert, update, delete")
	b = b.as(role)
	_, err := b.rekey(config.SinkKeyFeature, map[string]string{"k": "f"}, true)
	check.That(t, err != nil && strings.Contains(err.Error(), "parcels") && (strings.Contains(err.Error(), "permission") || strings.Contains(err.Error(), "owner")), "%v", err)
	check.Equal(t, b.names(), "k: x")
}
