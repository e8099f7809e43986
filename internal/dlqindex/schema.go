package dlqindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// schemaVersion is raised with every change of the tables. Tables of another version are dropped and filled again from
// Kafka.
const schemaVersion = 14

// contents lists the tables that are filled from the topics, each with a column dlq.
func contents() []string {
	return []string{"@dead_letter_queue", "@dead_letter_count", "@dead_letter_day", "@dead_letter_cell", "@dead_letter_group", "@dead_letter_position"}
}

// definitions returns the statements that create the tables. Columns are named in column.go.
func definitions(e Engine) []string {
	number := "INTEGER PRIMARY KEY"
	if e == PostgreSQL {
		number = "BIGSERIAL PRIMARY KEY"
	}
	lines := make([]string, 0, 64)
	for _, c := range columns() {
		lines = append(lines, strings.TrimSpace(c.name+" "+c.kind.in(e)+" "+c.rest))
	}
	statements := []string{
		"CREATE TABLE @dead_letter_source (dlq " + number + ", cluster_id TEXT NOT NULL, topic TEXT NOT NULL, topic_id TEXT NOT NULL, " +
			"status_topic TEXT NOT NULL, status_topic_id TEXT NOT NULL, synced_at " + moment.in(e) + ", UNIQUE (cluster_id, topic))",
		"CREATE TABLE @dead_letter_position (dlq BIGINT NOT NULL, topic TEXT NOT NULL, topic_partition INTEGER NOT NULL, " +
			"next_offset BIGINT NOT NULL, log_start BIGINT NOT NULL, PRIMARY KEY (dlq, topic, topic_partition))",
		"CREATE TABLE @dead_letter_group (dlq BIGINT NOT NULL, group_id TEXT NOT NULL, code TEXT NOT NULL, stage TEXT NOT NULL, " +
			"message TEXT NOT NULL, PRIMARY KEY (dlq, group_id))",
		"CREATE TABLE @dead_letter_count (dlq BIGINT NOT NULL, gone INTEGER NOT NULL, group_id TEXT NOT NULL, status TEXT NOT NULL, " +
			"letters BIGINT NOT NULL, bytes BIGINT NOT NULL, replayed BIGINT NOT NULL, PRIMARY KEY (dlq, gone, group_id, status))",
		"CREATE TABLE @dead_letter_day (dlq BIGINT NOT NULL, day TEXT NOT NULL, error_code TEXT NOT NULL, pipeline_name TEXT NOT NULL, " +
			"pending BIGINT NOT NULL, PRIMARY KEY (dlq, day, error_code, pipeline_name))",
		"CREATE TABLE @dead_letter_cell (dlq BIGINT NOT NULL, gone INTEGER NOT NULL, level INTEGER NOT NULL, x INTEGER NOT NULL, y INTEGER NOT NULL, status TEXT NOT NULL, " +
			"letters BIGINT NOT NULL, east BIGINT NOT NULL, north BIGINT NOT NULL, PRIMARY KEY (dlq, gone, level, x, y, status))",
		"CREATE TABLE @dead_letter_queue (\n  " + strings.Join(lines, ",\n  ") + ",\n  PRIMARY KEY (id, dlq))",
	}
	for _, x := range indexes(e) {
		statements = append(statements, "CREATE INDEX "+x.name+" ON @dead_letter_queue "+x.on)
	}
	return statements
}

// index is one index of dead_letter_queue: its name and what it is on.
type index struct{ name, on string }

// indexes lists the indexes besides the primary key. Letters are ordered by the time of death, in all and in a group, and
// pending letters by their first death.
//
// In SQLite the first two have all that groups count, and the first has all that filters select by except texts, headers
// and features. Their scans do not read the rows, however large they are. PostgreSQL keeps large values outside of its
// rows and limits what an index holds, so it scans the rows. It has the indexes of the source document too.
func indexes(e Engine) []index {
	counts, filters := "", ""
	if e == SQLite {
		counts = ", status, value_size, replay_count, reprocess_count"
		filters = ", group_id, error_code, pipeline_name, run_id, west, south, east, north"
	}
	list := []index{
		{"idx_dlq_died", "(dlq, gone, rejected_at, dlq_partition, dlq_offset" + counts + filters + ")"},
		{"idx_dlq_group", "(dlq, gone, group_id, rejected_at, dlq_partition, dlq_offset" + counts + ")"},
		{"idx_dlq_waiting", "(dlq, first_rejected_at, dlq_partition, dlq_offset) WHERE gone = 0 AND status = 'pending'"},
		{"idx_dlq_sent", "(dlq, group_id) WHERE gone = 0 AND status = 'discarded' AND state_to IS NOT NULL"},
	}
	if e == PostgreSQL {
		list = append(list,
			index{"idx_dlq_pipeline_status", "(pipeline_name, status, rejected_at)"},
			index{"idx_dlq_source_key", "(source_key, status) WHERE status = 'pending'"})
	}
	return list
}

// prepare creates the tables, or rebuilds them if they are of another version.
//
// The write-ahead log of SQLite, which stays a property of the file, lets readers go on while the index grows.
func (s *database) prepare(ctx context.Context) error {
	first := "PRAGMA journal_mode = WAL"
	if s.engine == PostgreSQL {
		first = "CREATE SCHEMA IF NOT EXISTS pipeline"
	}
	if _, err := s.db.ExecContext(ctx, first); err != nil {
		return fmt.Errorf("%s: %w", first, err)
	}
	return s.inTx(ctx, func(tx *tx) error {
		if err := s.lockSchema(tx); err != nil {
			return err
		}
		version, err := s.version(tx)
		if err != nil || version == schemaVersion {
			return err
		}
		if version != 0 {
			if err := s.drop(tx); err != nil {
				return err
			}
			s.remade = fmt.Sprintf("its tables were those of version %d, and this software has version %d", version, schemaVersion)
		}
		return s.create(tx)
	})
}

// lockSchema keeps two processes from creating the tables at once. SQLite has one writer at a time anyway.
func (s *database) lockSchema(tx *tx) error {
	if s.engine == SQLite {
		return nil
	}
	_, err := tx.sql.ExecContext(tx.ctx, "SELECT pg_advisory_xact_lock(hashtext('switchback dead letter index'))")
	return err
}

// version returns the version of the tables; 0 if there are none. A table with our name that somebody else created is an
// error.
func (s *database) version(tx *tx) (int, error) {
	ours, err := s.exists(tx, "dead_letter_schema")
	if err != nil {
		return 0, err
	}
	if ours {
		var version int
		err := tx.row("SELECT max(version) FROM @dead_letter_schema").Scan(&version)
		return version, err
	}
	theirs, err := s.exists(tx, "dead_letter_queue")
	if err == nil && theirs {
		err = errors.New("the database has a table dead_letter_queue that this index did not make; rename it, or use another database")
	}
	return 0, err
}

func (s *database) exists(tx *tx, table string) (bool, error) {
	query := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if s.engine == PostgreSQL {
		query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'pipeline' AND table_name = ?"
	}
	var n int
	err := tx.row(query, table).Scan(&n)
	return n > 0, err
}

func (s *database) drop(tx *tx) error {
	for _, table := range append(contents(), "@dead_letter_source", "@dead_letter_schema") {
		if err := tx.exec("DROP TABLE IF EXISTS " + table); err != nil {
			return fmt.Errorf("drop the tables of another version: %w", err)
		}
	}
	return nil
}

func (s *database) create(tx *tx) error {
	statements := append(definitions(s.engine),
		"CREATE TABLE @dead_letter_schema (version INTEGER NOT NULL)",
		fmt.Sprintf("INSERT INTO @dead_letter_schema (version) VALUES (%d)", schemaVersion))
	for _, statement := range statements {
		if err := tx.exec(statement); err != nil {
			return fmt.Errorf("make the tables: %w (%s)", err, statement)
		}
	}
	return nil
}
