package sink

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// audited compares rows with the table.
func (b *bench) audited(rows ...*Row) []Fact {
	b.t.Helper()
	a := must.Get(b.Audit(b.t.Context()))(b.t)
	defer func() {
		err := a.End(b.t.Context())
		check.That(b.t, err == nil, "%v", err)
	}()
	return must.Get(a.Check(b.t.Context(), rows))(b.t)
}

// S0-6: a column whose type rounds, pads or cuts has what the sink wrote, and an audit knows it. A geometry column with a type of its own
// and a geography are compared by what they hold.
func TestAudit_S0_6_columnsThatChangeTheirValues(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	for _, kind := range []string{"geometry", "geometry(Point, 4326)", "geometry(Geometry, 4326)", "geography", "geography(Point, 4326)"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			seesAChange(t, open(t, server, ""), "alter table parcels drop geom, add geom "+kind, `{}`, "update parcels set geom = 'SRID=4326;POINT(11.5 48.250001)'")
		})
	}
	for column, value := range map[string]string{
		"numeric(10,2)": `12.505`, "numeric(10, 0)": `7.5`, "numeric(3, -2)": `1234`, "numeric": `5.00`, "money": `12.345`,
		"char(5)": `"ab"`, "char": `"a"`, "varchar(3)": `"abc   "`, "bit(3)": `"101"`, "bit varying(5)": `"1011"`, "\"char\"": `"a"`, "name": `"ab"`,
		"timestamp(0)": `"2026-11-25T10:00:00.6"`, "timestamptz(3)": `"2026-11-25T10:00:00.123456Z"`, "time(0)": `"10:00:00.7"`, "timetz(1)": `"10:00:00.777+02:00"`,
		"interval(0)": `"1.7 seconds"`, "interval hour to minute": `"1 day 02:03:04"`, "real": `0.1234567890123`, "double precision": `0.1`,
		"numeric(10,1)[]": `[1.25, 2.35]`, "timestamp(0)[]": `["2026-11-25T10:00:00.6"]`, "char(4)[]": `["a", "bc"]`, "amount": `1.005`, "code": `"ab"`, "code2": `"ab"`, "pair": `{"a": 1.005, "b": "x"}`,
		"json": `{"b": 1,  "a": 2}`, "jsonb": `{"b": 1.0,  "a": 2}`, "numrange": `"[1.0,2)"`, "bytea": `"\\x01"`, "uuid": `"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"`, "inet": `"10.0.0.1/32"`, "xml": `"<a/>"`,
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			const types = "create domain amount as numeric(10,2); create domain code as char(5); create domain code2 as code; create type pair as (a numeric(4,2), b char(3)); "
			seesAChange(t, open(t, server, ""), types+"alter table parcels add x "+column, fmt.Sprintf(`{"x": %s}`, value), "update parcels set x = null")
		})
	}
}

// seesAChange writes a row into an altered table: an audit finds it as it was written, and a change of it.
func seesAChange(t *testing.T, b *bench, alter, properties, change string) {
	t.Helper()
	b.exec(alter)
	row := b.row("k", 0, 1, properties, point)
	b.must(row)
	f := b.audited(row)[0]
	check.That(t, f.There && f.Known && !f.Differs, "%+v: the table has %s", f, b.ask("select parcels::text from parcels"))
	b.exec(change)
	f = b.audited(row)[0]
	check.That(t, f.Differs, "a change is not seen: %+v", f)
}

// S0-6: a row whose values the columns do not take any more differs, and the others of its batch are compared all the same.
func TestAudit_S0_6_aRowThatTheColumnsDoNotTakeDiffers(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	for name, alter := range map[string]string{
		"cut":         "alter column name type varchar(3) using left(name, 3)",
		"no number":   "alter column name type int using length(name)",
		"overflow":    "alter column area type numeric(2,1) using case when area is not null then 1 end",
		"a domain":    "alter column name type short using left(name, 3)",
		"of a domain": "alter column name type shorter using left(name, 3)",
		"cut, padded": "alter column name type char(3) using left(name, 3)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, server, "")
			b.exec("create domain short as varchar(3); create domain shorter as short")
			good, long, other := b.row("a", 0, 1, `{}`, point), b.row("b", 0, 2, `{"name": "abcd", "area": 1234.5}`, point), b.row("c", 0, 3, `{}`, point)
			b.must(good, long, other)
			b.exec("alter table parcels " + alter)
			facts := b.audited(good, long, other, b.row("d", 0, 4, `{"name": "wxyz", "area": 1234.5}`, point))
			check.That(t, !facts[0].Differs && facts[1].There && facts[1].Differs && !facts[2].Differs && !facts[3].There && !facts[3].Known, "%+v", facts)
		})
	}
}

// S0-6: what a fact means. The table is written before the topic: one that is behind is wrong, one that is ahead may be right.
func TestDifferenceOf_S0_6(t *testing.T) {
	live := topicState{source: header.Position{Topic: "t", Partition: 1, Offset: 10}, place: 10}
	gone, loose := live, live
	gone.deletes, loose.loose = true, true
	at := func(source string, offset int64, f Fact) Fact {
		f.Known, f.Source, f.Version.Offset = true, source, offset
		return f
	}
	for name, c := range map[string]struct {
		topic topicState
		fact  Fact
		want  Difference
	}{
		"as it should be":                     {live, at("t/1/10", 10, Fact{There: true}), ""},
		"a later duplicate":                   {live, at("t/1/20", 20, Fact{Same: true, There: true}), ""},
		"no row":                              {live, at("t/1/10", 10, Fact{}), DifferenceMissing},
		"another content":                     {live, at("t/1/10", 10, Fact{There: true, Differs: true}), DifferenceChanged},
		"no guard":                            {live, Fact{There: true}, DifferenceMissing},
		"an older event":                      {live, at("t/1/9", 9, Fact{There: true, Differs: true}), DifferenceStale},
		"an older delete":                     {live, at("t/1/9", 9, Fact{Deleted: true}), DifferenceMissing},
		"a newer event":                       {live, at("t/1/11", 11, Fact{There: true, Differs: true}), DifferenceAhead},
		"a newer delete":                      {live, at("t/1/11", 11, Fact{Deleted: true}), DifferenceAhead},
		"another partition":                   {live, at("t/0/9", 9, Fact{There: true, Differs: true}), DifferenceAhead},
		"a guard that says no place":          {live, at("", 9, Fact{There: true}), DifferenceAhead},
		"versions without an order of topics": {loose, at("t/1/9", 9, Fact{There: true, Differs: true}), DifferenceAhead},
		"deleted":                             {gone, at("t/1/10", 10, Fact{Deleted: true}), ""},
		"deleted, and there again":            {gone, at("t/1/10", 10, Fact{Deleted: true, There: true}), DifferenceExtra},
		"deleted, never written":              {gone, Fact{}, ""},
		"deleted, by nobody written":          {gone, Fact{There: true}, DifferenceExtra},
		"not deleted yet":                     {gone, at("t/1/9", 9, Fact{There: true}), DifferenceExtra},
		"alive again":                         {gone, at("t/1/11", 11, Fact{There: true}), DifferenceAhead},
	} {
		check.Equal(t, differenceOf(c.topic, c.fact), c.want, name)
	}
}

// Of a key the newest record counts; of several partitions the one that was written last.
func TestNewest(t *testing.T) {
	n := newestRecords{places: map[keyHash]recordPosition{}, most: 2}
	rec := func(partition int32, offset, millis int64) *kgo.Record {
		return &kgo.Record{Topic: "out", Partition: partition, Offset: offset, Timestamp: time.UnixMilli(millis)}
	}
	older, newer, elsewhere := rec(0, 1, 5), rec(0, 2, 5), rec(1, 0, 4)
	for _, r := range []*kgo.Record{older, newer, elsewhere} {
		must.Do(t, n.take([]byte("k"), r))
	}
	check.That(t, !n.is([]byte("k"), older) && n.is([]byte("k"), newer) && !n.is([]byte("k"), elsewhere) && !n.is([]byte("other"), newer), "%v", n.places)
	err := errors.Join(n.take([]byte("l"), older), n.take([]byte("m"), older))
	check.That(t, errors.Is(err, ErrTooManyKeys), "%v", err)
}
