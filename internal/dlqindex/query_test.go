package dlqindex

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/lettermodel"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// monitoring are the queries of the source document on dead letters, as they stand there, each
// with the letters that it has to find here.
func monitoring() map[string]struct {
	text string
	rows []string
} {
	type query = struct {
		text string
		rows []string
	}
	return map[string]query{
		"daily summary": {`SELECT
    pipeline_name,
    DATE(rejected_at)   AS date,
    error_type,
    COUNT(*)            AS dlq_count,
    COUNT(*) FILTER (WHERE status = 'pending') AS pending_count
FROM pipeline.dead_letter_queue
WHERE rejected_at > NOW() - INTERVAL '7 days'
GROUP BY 1, 2, 3
ORDER BY 2 DESC, 4 DESC;`, []string{"orders_incremental TODAY validation 3 2", "orders_incremental TODAY schema 1 1"}},
		"most common reasons today": {`SELECT error_type, error_message, COUNT(*) AS count
FROM pipeline.dead_letter_queue
WHERE rejected_at::DATE = CURRENT_DATE
  AND status = 'pending'
GROUP BY 1, 2
ORDER BY 3 DESC
LIMIT 20;`, []string{"validation non_numeric_delivery_fee: 'N/A' 2", "schema no feature 1"}},
		"for the reprocessing job": {`SELECT id, raw_record, source_key
FROM pipeline.dead_letter_queue
WHERE pipeline_name = 'orders_incremental'
  AND status = 'pending'
  AND error_type = 'validation'
ORDER BY rejected_at ASC;`, []string{`a {"a": 1,"a":2} key a`, `b {"a": 1,"a":2} key b`}},
		"of one run": {`SELECT * FROM pipeline.dead_letter_queue WHERE run_id='abc123'`, nil},
		"reasons of one run": {`SELECT error_message, COUNT(*) AS count
FROM pipeline.dead_letter_queue
WHERE run_id = 'def456' AND status = 'pending'
GROUP BY 1;`, []string{"non_numeric_delivery_fee: 'N/A' 2", "no feature 1"}},
	}
}

func TestPostgreSQL_S4_6_the_documents_monitoring_queries_run_as_they_stand(t *testing.T) {
	t.Parallel()
	postgis.OrSkip(t, noServer)
	place := server.Database(t)
	w := newWorld(t, place)
	now := time.Now().UTC()
	for i, id := range []string{"a", "b", "c", "d"} {
		r := w.dead(0, id, func(c *header.Control) {
			c.Pipeline, c.RunID, c.ErrorStage, c.ErrorMessage = "orders_incremental", "def456", "validate", "non_numeric_delivery_fee: 'N/A'"
			if id == "d" {
				c.ErrorStage, c.ErrorMessage = "decode", "no feature"
			}
		})
		r.Value, r.Timestamp = []byte(`{"a": 1,"a":2}`), now.Add(time.Duration(i)*time.Millisecond)
		w.put(r)
	}
	w.put(state(0, "c", deadletters.Discarded, 0))
	w.sync()
	for name, q := range monitoring() {
		got := strings.Join(answer(t, w.index.db, q.text), "\n")
		want := strings.ReplaceAll(strings.Join(q.rows, "\n"), "TODAY", now.Format(time.DateOnly))
		if name == "reasons of one run" { // the document's query has no order
			got, want = sorted(got), sorted(want)
		}
		expect.That(t, got == want, "%s:\n got %s\nwant %s", name, got, want)
	}
	// Its clean-up statement runs as well.
	must.Get(w.index.db.ExecContext(t.Context(), `DELETE FROM pipeline.dead_letter_queue WHERE status IN ('reprocessed', 'discarded') AND rejected_at < NOW() - INTERVAL '30 days'`))(t)
	_, ok := w.index.db.Driver().(*stdlib.Driver)
	expect.That(t, ok, "the driver is %T", w.index.db.Driver())
}

func sorted(lines string) string {
	list := strings.Split(lines, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// answer runs a query and gives its rows as text.
func answer(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must.That(t, err == nil, "%v\nof %s", err, query)
	defer rows.Close()
	columns := must.Get(rows.Columns())(t)
	var out []string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		must.Do(t, rows.Scan(targets...))
		words := make([]string, len(values))
		for i, v := range values {
			switch v := v.(type) {
			case time.Time:
				words[i] = v.Format(time.DateOnly)
			case []byte:
				words[i] = string(v)
			default:
				words[i] = fmt.Sprint(v)
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	must.Do(t, rows.Err())
	return out
}

func TestCursor_S4_6_refuses_what_is_none(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1.2", "1.2.3.4", "1.2.x", " 1.2.3", "1.99999999999.3"} {
		c, err := ParseCursor(text)
		expect.That(t, errors.Is(err, ErrCursor), "%q: %v, %v", text, c, err)
	}
	c, err := ParseCursor("-5.2.3")
	expect.That(t, err == nil && c == (Cursor{-5, 2, 3}), "%v, %v", c, err)
}

// A caller that waits for an answer for more than a second is told, once.
func TestQuery_S4_6_tells_that_an_answer_takes_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := 0
		q := Query{Slow: func() { told++ }}
		stop := q.watch()
		time.Sleep(patience / 2)
		stop()
		time.Sleep(2 * patience)
		expect.That(t, told == 0, "told %d times of a quick answer", told)
		stop = q.watch()
		time.Sleep(3 * patience)
		stop()
		expect.That(t, told == 1, "told %d times of a slow answer", told)
	})
}

// The table keeps values as JSON and headers cut; a filter finds the same letters in it as in the
// topics, so that what is previewed is what is changed.
func TestFilter_S4_6_text_and_headers_find_in_SQL_what_they_find_in_the_topics(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", deadletters.MaxHeaderValue)
	text := func(s string) deadletters.Filter { return deadletters.Filter{Text: s} }
	header := func(name string, value *string) deadletters.Filter {
		return deadletters.Filter{Headers: []deadletters.HeaderMatch{{Name: name, Value: value}}}
	}
	cases := map[string]struct {
		f    deadletters.Filter
		want string
	}{
		"text of JSON as it was written":           {text(`"a\"b"`), "json"},
		"not as it would be read":                  {text(`"a"b"`), ""},
		"text that is no JSON":                     {text("\"quoted\"\nlines"), "lines"},
		"not the form that SQL keeps it in":        {text(`\nlines`), ""},
		"text among bytes":                         {text("Straße"), "binary"},
		"not their base64":                         {text("base64"), ""},
		"a tombstone has no text":                  {text("null"), "word"},
		"deep JSON":                                {text("[[[["), "deep"},
		"a key of bytes":                           {text("key of"), "binary"},
		"a header by its name":                     {header("trace", nil), "cut long"},
		"by its value":                             {header("trace", &long), "long"},
		"no header among bytes":                    {header("raw", new("\x01")), ""},
		"bytes by their name":                      {header("raw", nil), "binary"},
		"both, which are composed with AND":        {deadletters.Filter{Text: "1", Headers: header("trace", nil).Headers}, "cut"},
		"several headers composed with OR":         {deadletters.Filter{Headers: append(header("raw", nil).Headers, header("trace", &long).Headers...)}, "binary long"},
		"a control header that may be named":       {header("switchback-care", new("yes")), "json"},
		"upper case is not the same":               {text("STRASSE"), ""},
		"a wildcard of SQL is a dead letter of it": {text("%"), "percent"},
	}
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		for id, r := range map[string]*kgo.Record{
			"json":    {Value: []byte(`{"x":"a\"b"}`), Headers: []kgo.RecordHeader{{Key: "switchback-care", Value: []byte("yes")}}},
			"lines":   {Value: []byte("\"quoted\"\nlines")},
			"binary":  {Key: []byte("\x00key of\xff"), Value: []byte("\x00\x0eStraße\xff"), Headers: []kgo.RecordHeader{{Key: "raw", Value: []byte("\x01\xff")}}},
			"gone":    {Value: nil},
			"word":    {Value: []byte("null")},
			"empty":   {Value: []byte{}},
			"deep":    {Value: []byte(strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1))},
			"long":    {Value: []byte("{}"), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(long)}}},
			"cut":     {Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(long + "x")}}},
			"percent": {Value: []byte("%")},
		} {
			r.Topic, r.Timestamp = "dlq", at
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: "switchback-dead-letter-id", Value: []byte(id)})
			w.put(r)
		}
		w.sync()
		w.sound()
		for name, c := range cases {
			model := must.Get(lettermodel.Load(t.Context(), w.cl, "dlq", "status"))(t)
			got := ids(model.Select(c.f))
			expect.That(t, got == c.want, "%s: the topics have %q, want %q", name, got, c.want)
			got = ids(w.letters(Query{Filter: c.f}))
			expect.That(t, got == c.want, "%s: SQL finds %q, want %q", name, got, c.want)
		}
	})
}

// Few letters are sent away, and every answer about groups or of statistics counts them: without their index it would read each letter.
func TestSentAway_S4_6_isCountedByItsIndex(t *testing.T) {
	w := newWorld(t, t.TempDir()+"/letters.sqlite")
	w.sync()
	for name, f := range filters() {
		must.Do(t, w.index.inTx(t.Context(), func(x *tx) error {
			from, args := w.dlq().sentAway(Query{Filter: f})
			return x.found("EXPLAIN QUERY PLAN SELECT q.group_id, count(*)"+from+" GROUP BY q.group_id", func(rows *sql.Rows) error {
				var id, parent, unused int
				var step string
				err := rows.Scan(&id, &parent, &unused, &step)
				expect.That(t, strings.Contains(step, "idx_dlq_sent"), "%s: %s", name, step)
				return err
			}, args...)
		}))
	}
}

// Every selected letter is in one cell, outside of the view, or without a place.
func TestCells_S4_6_count_centres_by_a_grid(t *testing.T) {
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		boxes := []string{
			"8,47,9,48", "8.2,47.2,8.8,47.8", "10.5,50.5,10.5,50.5", "-179,-20,-177,-18", "179,-18,-175,-16", "177,-18,-179,-16", // the last two cross the antimeridian
			"", "no box", "1e308,0,1.7e308,1", "-1e9,0,2e9,1",
		}
		for i, box := range boxes {
			w.put(w.dead(0, fmt.Sprint(i), func(c *header.Control) { c.BBox = box }))
		}
		w.put(state(0, "0", deadletters.Discarded, 0))
		w.sync()
		ask := func(q Query, columns, rows int) Cells {
			t.Helper()
			got := must.Get(w.dlq().Cells(t.Context(), q, columns, rows))(t)
			sum := got.NoPlace + got.Outside
			for _, cell := range got.Each {
				sum += cell.Letters
			}
			q.Limit = 0
			n, err := w.dlq().Count(t.Context(), q)
			expect.That(t, err == nil && n == sum, "%d of %d letters are counted (%v): %+v", sum, n, err, got)
			return got
		}
		all := ask(Query{}, 4, 2)
		expect.That(t, all.NoPlace == 4 && all.View == (deadletters.BBox{West: -180, South: -64, East: 180, North: 64}), "%+v", all)
		for _, q := range []Query{{}, {Filter: deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}}} {
			read := ask(q, 20, 10)
			var counted Cells
			must.Do(t, w.index.reading(t.Context(), func(x *tx) error {
				g, err := w.dlq().counted(x, q, 0, 20, 10)
				counted = g.cells()
				return err
			}))
			for i := range read.Each {
				read.Each[i].ID = ""
			}
			expect.That(t, same(read.Each, counted.Each) && read.View == counted.View && read.NoPlace == counted.NoPlace, "%+v, counted %+v", read, counted)
		}
		near := ask(Query{Filter: deadletters.Filter{BBox: &deadletters.BBox{West: 8, South: 47, East: 11, North: 51}}}, 3, 4)
		want := []Cell{
			{Letters: 2, Pending: 1, X: 8.5, Y: 47.5, Area: deadletters.BBox{West: 8, South: 47, East: 9, North: 48}},
			{Letters: 1, Pending: 1, X: 10.5, Y: 50.5, Area: deadletters.BBox{West: 10, South: 50, East: 11, North: 51}, ID: "2"},
		}
		expect.That(t, same(near.Each, want), "%+v", near)
		across := ask(Query{Filter: deadletters.Filter{BBox: &deadletters.BBox{West: 178, South: -20, East: -176, North: -16}}}, 2, 1)
		want = []Cell{
			{Letters: 1, Pending: 1, X: 179, Y: -17, Area: deadletters.BBox{West: 178, South: -20, East: -179, North: -16}, ID: "5"},
			{Letters: 2, Pending: 2, X: -178, Y: -18, Area: deadletters.BBox{West: -179, South: -20, East: -176, North: -16}},
		}
		expect.That(t, same(across.Each, want), "%+v", across)
		half := ask(Query{Filter: deadletters.Filter{BBox: &deadletters.BBox{West: 8, South: 47, East: 8.4, North: 48}}}, 2, 2)
		expect.That(t, half.Outside == 2 && len(half.Each) == 0, "%+v", half)
		none := ask(Query{Filter: deadletters.Filter{Codes: []string{"none"}}}, 2, 2)
		expect.That(t, none.Each == nil && none.NoPlace == 0, "%+v", none)
	})
}

// same compares cells to a millionth.
func same(got, want []Cell) bool {
	text := func(cells []Cell) (out string) {
		for _, c := range cells {
			out += fmt.Sprintf("%d %d %.6f %.6f %.6f %.6f %.6f %.6f %s\n", c.Letters, c.Pending, c.X, c.Y, c.Area.West, c.Area.South, c.Area.East, c.Area.North, c.ID)
		}
		return out
	}
	return text(got) == text(want)
}
