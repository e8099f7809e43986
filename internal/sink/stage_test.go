package sink

import (
	"fmt"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// rows are n new states of keys from one on.
func (b *bench) rows(from, n int, offset int64, name string) []*Row {
	b.t.Helper()
	out := make([]*Row, n)
	for i := range out {
		out[i] = b.row(fmt.Sprintf("k%03d", from+i), 0, offset+int64(i), fmt.Sprintf(`{"name":%q}`, name), point)
	}
	return out
}

// S0-6: the upsert takes over a row that the table has and the guard does not. A unique constraint of the team's own refuses only the rows
// that break it, and no other row is lost.
func TestSink_S0_6_rowsThatTheGuardDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("insert into parcels (id, name) values ('k025', 'by hand')")
	b.must(b.rows(20, 10, 20, "new")...)
	if got := b.ask("select count(*) || name from parcels where id between 'k020' and 'k029' group by name"); got != "10new" {
		t.Errorf("the table has %s", got)
	}
	b.exec("create unique index on parcels (name) where name like 'only%'")
	answers := b.together(append(b.rows(40, 1, 40, "only one"), b.rows(41, 2, 41, "only one")...)...)
	failed := 0
	for _, err := range answers {
		if err != nil {
			failed++
			if f := classify.Of(err); f.Code != classify.CodeDBConstraint {
				t.Errorf("%s: %v", f.Code, err)
			}
		}
	}
	if failed != 2 || b.ask("select count(*) from parcels where name = 'only one'") != "1" {
		t.Errorf("answers: %v", answers)
	}
}

// S0-6: every way in which pgx runs statements does, such as those that poolers need. A batch that fails leaves no transaction open.
func TestSink_S0_6_everyQueryModeWrites(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := open(t, server, ", max_connections: 1")
			b.connectsBy(b.dsn + "&default_query_exec_mode=" + mode)
			b.reopen()
			b.must(b.rows(0, 5, 0, "first")...)
			b.must(b.rows(3, 5, 10, "second")...)
			b.must(b.row("k000", 0, 20, "", ""))
			if err := b.write(b.row("bad", 0, 21, `{"seen":"never"}`, point)); classify.Of(err).Code != classify.CodeDBData {
				t.Errorf("a value that the column refuses: %v", err)
			}
			b.must(b.row("k001", 0, 22, `{"name":"third","tags":["a",{"b":null}]}`, point))
			if got := b.ask("select string_agg(id || name, ',' order by id) from parcels"); got != "k001third,k002first,k003second,k004second,k005second,k006second,k007second" {
				t.Errorf("the table has %s", got)
			}
		})
	}
}

// S0-6: a state that is the same byte by byte is not written again: no trigger fires, no dead row is left.
func TestSink_S0_6_aDuplicateTouchesNoRow(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.must(b.row("a", 0, 1, `{"name":"x","tags":[1]}`, point))
	before := b.ask("select xmin || '/' || ctid from parcels")
	b.must(b.row("a", 0, 1, `{"name":"x","tags":[1]}`, point))
	if after := b.ask("select xmin || '/' || ctid from parcels"); after != before {
		t.Errorf("%s became %s", before, after)
	}
	b.must(b.row("a", 0, 1, `{"name":"X","tags":[1]}`, point)) // the same event, made differently by a later attempt
	if got := b.ask("select name from parcels"); got != "X" {
		t.Errorf("the table has %s", got)
	}
}
