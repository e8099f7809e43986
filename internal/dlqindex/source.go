package dlqindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// partition names one partition of a topic.
type partition struct {
	topic  string
	number int32
}

// position is how far a partition was read, and where its log started at that time.
type position struct{ next, start int64 }

// enter returns the number of a DLQ, and assigns one to a new DLQ. If the topic has another ID than before, enter deletes
// what the index has of it, and reason says why.
func (w *session) enter(ctx context.Context, cluster string, src Source, f facts) (dlq int64, reason string, err error) {
	err = w.inTx(ctx, func(tx *tx) error {
		// The insert comes first, because two processes may enter the same DLQ at once.
		entered, err := tx.affected("INSERT INTO @dead_letter_source (cluster_id, topic, topic_id, status_topic, status_topic_id) "+
			"VALUES (?, ?, ?, ?, ?) ON CONFLICT (cluster_id, topic) DO NOTHING", cluster, src.DLQ, f.topicID, src.Status, f.statusID)
		if err != nil {
			return err
		}
		if entered > 0 {
			reason = wasEmpty
		}
		var topicID, status, statusID string
		err = tx.row("SELECT dlq, topic_id, status_topic, status_topic_id FROM @dead_letter_source WHERE cluster_id = ? AND topic = ?",
			cluster, src.DLQ).Scan(&dlq, &topicID, &status, &statusID)
		if err != nil || topicID == f.topicID && status == src.Status && statusID == f.statusID {
			return err
		}
		reason = fmt.Sprintf("topic %s is another one than before (its id differs)", src.DLQ)
		before, _, _ := strings.Cut(topicID, " ") // behind the ID is how the topic was read
		now, _, _ := strings.Cut(f.topicID, " ")
		switch {
		case before != now:
		case topicID != f.topicID:
			reason = fmt.Sprintf("topic %s is read in another way than before (with or without a pipeline file, as other software's, or with another source.max_record_bytes)", src.DLQ)
		case status != src.Status:
			reason = fmt.Sprintf("topic %s is read with another status topic than before (%s, before %s)", src.DLQ, cmp.Or(src.Status, "none"), cmp.Or(status, "none"))
		case src.States != nil:
			reason = fmt.Sprintf("the states of %s are in another directory than before, or in one that was made since", src.DLQ)
		default:
			reason = fmt.Sprintf("topic %s is another one than before (its id differs)", src.Status)
		}
		if err := tx.forget(dlq); err != nil {
			return err
		}
		return tx.exec("UPDATE @dead_letter_source SET topic_id = ?, status_topic = ?, status_topic_id = ? WHERE dlq = ?",
			f.topicID, src.Status, f.statusID, dlq)
	})
	return dlq, reason, wrapped("enter "+src.DLQ+" into the index", err)
}

// positions returns how far each partition of both topics was read.
func (t *tx) positions(dlq int64) (map[partition]position, error) {
	out := map[partition]position{}
	return out, t.found("SELECT topic, topic_partition, next_offset, log_start FROM @dead_letter_position WHERE dlq = ?", func(rows *sql.Rows) error {
		var p partition
		var at position
		err := rows.Scan(&p.topic, &p.number, &at.next, &at.start)
		out[p] = at
		return err
	}, dlq)
}

// touch stores when the index was last synced.
func (w *session) touch(ctx context.Context, dlq int64) error {
	return w.inTx(ctx, func(tx *tx) error {
		return tx.exec("UPDATE @dead_letter_source SET synced_at = ? WHERE dlq = ?", w.engine.time(time.Now()), dlq)
	})
}

func (w *session) forget(ctx context.Context, dlq int64) error {
	return w.inTx(ctx, func(tx *tx) error { return tx.forget(dlq) })
}

// forget deletes the contents of a DLQ from all tables.
func (t *tx) forget(dlq int64) error {
	for _, table := range contents() {
		if err := t.exec("DELETE FROM "+table+" WHERE dlq = ?", dlq); err != nil {
			return err
		}
	}
	return nil
}

// move locks the DLQ, so that one process writes at a time, and moves the position of a partition from one offset to the
// next. The error is errMoved if another process has moved it.
func (t *tx) move(dlq int64, of partition, from, next int64) error {
	if err := t.lock(dlq); err != nil {
		return err
	}
	var at int64
	err := t.row("SELECT next_offset FROM @dead_letter_position WHERE dlq = ? AND topic = ? AND topic_partition = ?", dlq, of.topic, of.number).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if at != from {
		return errMoved
	}
	return t.exec("INSERT INTO @dead_letter_position (dlq, topic, topic_partition, next_offset, log_start) VALUES (?, ?, ?, ?, 0) "+
		"ON CONFLICT (dlq, topic, topic_partition) DO UPDATE SET next_offset = excluded.next_offset", dlq, of.topic, of.number, next)
}

// lock makes other writers of the same DLQ wait until the transaction ends.
func (t *tx) lock(dlq int64) error {
	if t.engine == SQLite { // it has one writer anyway
		return nil
	}
	var locked int64
	return t.row("SELECT dlq FROM @dead_letter_source WHERE dlq = ? FOR UPDATE", dlq).Scan(&locked)
}
