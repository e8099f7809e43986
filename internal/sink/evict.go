package sink

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
)

// Evict deletes rows that the guard has as the row of no key: somebody else inserted them. Meanwhile it holds their keys
// in the guard, so that a row that an instance writes at the same moment stays. It returns the number of deleted rows.
func (s *Sink) Evict(ctx context.Context, keys []string) (gone int64, err error) {
	r, err := s.known(ctx, s.refreshAge)
	if err != nil {
		return 0, err
	}
	hold, held := evictByRecord, "g.key"
	if r.claims {
		hold, held = evictByClaim, "g.row_key"
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select "+setSession(true)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(hold, r.guard), keys, int64(math.MinInt64)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("select from %s g where %s = any ($1) order by g.key for update", r.guard, held), keys); err != nil {
			return err
		}
		away, err := tx.Exec(ctx, fmt.Sprintf("delete from %[1]s t using %[2]s g where %[3]s = any ($1) and (g.deleted or g.source = '%[4]s') and t.%[5]s = %[3]s::%[6]s",
			r.quoted, r.guard, held, evictor, quote(r.key), r.keyType), keys)
		if err != nil {
			return err
		}
		gone = away.RowsAffected()
		_, err = tx.Exec(ctx, fmt.Sprintf("delete from %s where source = '%s'", r.guard, evictor))
		return err
	})
	return gone, s.db.Lost(err)
}

// evictor is the source of held keys: no topic has such a name.
const evictor = "(evicted)"

// The keys, in order. They are older than every event.
const (
	evictByRecord = `insert into %s (key, number, source_offset, deleted, delete_offset, content_hash, source, written_at)
select k, $2, -1, true, -1, '', '` + evictor + `', now() from unnest($1::text[]) as k order by k on conflict (key) do nothing`
	evictByClaim = `insert into %s (key, number, source_offset, deleted, delete_offset, content_hash, source, written_at, row_key)
select '` + escaped + `evict:' || k, $2, -1, false, -1, '', '` + evictor + `', now(), k from unnest($1::text[]) as k order by k on conflict (row_key) do nothing`
)
