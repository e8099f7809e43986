package dlqindex

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/switchback-geo/switchback/internal/deadletters"
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
		got := strings.Join(answer(t, w.store.db, q.text), "\n")
		want := strings.ReplaceAll(strings.Join(q.rows, "\n"), "TODAY", now.Format(time.DateOnly))
		if name == "reasons of one run" { // the document's query has no order
			got, want = sorted(got), sorted(want)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	// Its clean-up statement runs as well.
	if _, err := w.store.db.ExecContext(t.Context(), `DELETE FROM pipeline.dead_letter_queue WHERE status IN ('reprocessed', 'discarded') AND rejected_at < NOW() - INTERVAL '30 days'`); err != nil {
		t.Error(err)
	}
	if _, ok := w.store.db.Driver().(*stdlib.Driver); !ok {
		t.Errorf("the driver is %T", w.store.db.Driver())
	}
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
	if err != nil {
		t.Fatalf("%v\nof %s", err, query)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
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
