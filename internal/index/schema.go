package index

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// schemaVersion is raised with every change of the tables. Tables of another version are dropped
// and filled again, since all that is in them is in Kafka.
const schemaVersion = 8

// tables lists the tables, which are dropped in this order.
func tables() []string {
	return []string{
		"@dead_letter_queue", "@dead_letter_block", "@dead_letter_name", "@dead_letter_group", "@dead_letter_position",
		"@dead_letter_source", "@dead_letter_schema",
		"@dead_letter_count", // of versions up to 3
	}
}

// definitions are the statements that make the tables. Columns are named in column.go.
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
		"CREATE TABLE @dead_letter_name (dlq BIGINT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL, " +
			"PRIMARY KEY (dlq, kind, name))",
		"CREATE TABLE @dead_letter_block (dlq BIGINT NOT NULL, part TEXT NOT NULL, topic_partition INTEGER NOT NULL, block BIGINT NOT NULL, " +
			"data " + blob.in(e) + " NOT NULL, PRIMARY KEY (dlq, part, topic_partition, block))",
		"CREATE TABLE @dead_letter_queue (\n  " + strings.Join(lines, ",\n  ") + ",\n  PRIMARY KEY (id, dlq))",
	}
	if e == PostgreSQL { // what is read as often as blocks is not compressed
		statements = append(statements, "ALTER TABLE @dead_letter_block ALTER COLUMN data SET STORAGE EXTERNAL")
	}
	return statements
}

// indexDefinition is one index of dead_letter_queue: its name and what it is on.
type indexDefinition struct{ name, on string }

// indexes are those of dead_letter_queue besides its primary key: where a record lies, which
// leads from a block to the row, and the two of the source document.
func indexes(e Engine) []indexDefinition {
	own := []indexDefinition{{"idx_dlq_place", "(dlq, dlq_partition, dlq_offset)"}}
	if e == SQLite {
		return own // its queries are those of this package
	}
	return append(own,
		indexDefinition{"idx_dlq_pipeline_status", "(pipeline_name, status, rejected_at)"},
		indexDefinition{"idx_dlq_source_key", "(source_key, status) WHERE status = 'pending'"})
}

// makeIndexes makes those that are missing.
func (t *tx) makeIndexes() error {
	for _, x := range indexes(t.engine) {
		if err := t.exec("CREATE INDEX IF NOT EXISTS " + x.name + " ON @dead_letter_queue " + x.on); err != nil {
			return fmt.Errorf("make index %s: %w", x.name, err)
		}
	}
	return nil
}

// dropIndexes drops the indexes when the table has fewer rows than come in, and says whether it
// did: many rows come in faster without them. A process that ends before it has made them again
// leaves that to the next one that opens the store.
func (t *tx) dropIndexes(coming int64) (bool, error) {
	var rows int64
	err := t.row(fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM @dead_letter_queue LIMIT %d) AS first", coming)).Scan(&rows)
	if err != nil || rows >= coming {
		return false, err
	}
	for _, x := range indexes(t.engine) {
		if err := t.exec("DROP INDEX IF EXISTS " + t.engine.tablePrefix() + x.name); err != nil {
			return false, fmt.Errorf("drop index %s: %w", x.name, err)
		}
	}
	return true, nil
}

// prepare makes the tables, or rebuilds them when they are of another version.
func (s *Store) prepare(ctx context.Context) error {
	if s.engine == PostgreSQL {
		if _, err := s.db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS pipeline"); err != nil {
			return fmt.Errorf("make schema pipeline: %w", err)
		}
	}
	return s.inTx(ctx, func(tx *tx) error {
		if err := s.lockSchema(tx); err != nil {
			return err
		}
		version, err := s.version(tx)
		if err != nil {
			return err
		}
		if version == schemaVersion {
			return tx.makeIndexes()
		}
		if version != 0 {
			if err := s.drop(tx); err != nil {
				return err
			}
			s.remade = fmt.Sprintf("its tables were those of version %d, and this software has version %d", version, schemaVersion)
		}
		if err := s.create(tx); err != nil {
			return err
		}
		return tx.makeIndexes()
	})
}

// lockSchema keeps two processes from making the tables at once. SQLite's transactions do so by
// themselves.
func (s *Store) lockSchema(tx *tx) error {
	if s.engine == SQLite {
		return nil
	}
	_, err := tx.sql.ExecContext(tx.ctx, "SELECT pg_advisory_xact_lock(hashtext('switchback dead letter index'))")
	return err
}

// version is that of the tables; 0 when there are none. A table with our name that somebody else
// made is left alone.
func (s *Store) version(tx *tx) (int, error) {
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

func (s *Store) exists(tx *tx, table string) (bool, error) {
	query := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if s.engine == PostgreSQL {
		query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'pipeline' AND table_name = ?"
	}
	var n int
	err := tx.row(query, table).Scan(&n)
	return n > 0, err
}

func (s *Store) drop(tx *tx) error {
	for _, table := range tables() {
		if err := tx.exec("DROP TABLE IF EXISTS " + table); err != nil {
			return fmt.Errorf("drop the tables of another version: %w", err)
		}
	}
	return nil
}

func (s *Store) create(tx *tx) error {
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
