package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Repeat is an event equal to the last effective one of its key. Nothing must be written, unless the table has something
// else: an event in between was written, and its answer was lost.
type Repeat struct {
	Key                 []byte
	Version             header.Version
	ContentHash, Source string // as in [Row]
}

// repeatJob is a repeat that waits for its answer.
type repeatJob struct {
	*Repeat
	stale bool
	done  chan error // has room for the one answer
}

// Repeated reports whether the row of a duplicate must be written nevertheless: the guard has an older event with
// other content for the key, or none. Otherwise the guard gets its version, so that an event in between is refused if
// it comes late. Errors are those of [Sink.Write].
func (s *Sink) Repeated(ctx context.Context, r *Repeat) (stale bool, err error) {
	if !FindsRow(r.Key) {
		return true, nil // the write will report the fault
	}
	j := &repeatJob{Repeat: r, done: make(chan error, 1)}
	select {
	case s.repeats <- j:
	case <-ctx.Done():
		return false, fmt.Errorf("wait for a connection to %s: %w", s.db.What, ctx.Err())
	}
	select {
	case err := <-j.done:
		return j.stale, classify.WithStage(classify.StageSink, err)
	case <-ctx.Done():
		return false, fmt.Errorf("ask %s: %w", s.db.What, ctx.Err())
	}
}

// confirm answers all waiting repeats at once: a file that is sent again consists of repeats.
func (s *Sink) confirm() {
	for {
		select {
		case <-s.closing:
			return
		case first := <-s.repeats:
			batch := append(make([]*repeatJob, 0, s.limit), first)
			for more := true; more && len(batch) < s.limit; {
				select {
				case j := <-s.repeats:
					batch = append(batch, j)
				default:
					more = false
				}
			}
			err := s.behindBreaker(func(ctx context.Context) error {
				return s.twice(ctx, func(ctx context.Context) error { return s.compare(ctx, batch) })
			})
			for _, j := range batch {
				j.done <- err
			}
		}
	}
}

// raise sets the guard's versions of repeats whose content it has. It locks rows in the order of their keys, like the
// upsert.
const raise = `
with same as (
	select g.key, v.number, v.source_offset, v.source
	from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) as v(key, number, source_offset, content_hash, source)
	join %[1]s as g on g.key = v.key
	where not g.deleted and g.content_hash = v.content_hash and (g.number, g.source_offset) < (v.number, v.source_offset)
	order by g.key for update of g
)
update %[1]s as g set number = same.number, source_offset = same.source_offset, source = same.source, written_at = now()
from same where g.key = same.key`

// older returns the repeats that are newer than the guard after raise. It is a separate statement, because it must see
// what another instance wrote while raise waited for it.
const older = `
select v.n from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as v(key, number, source_offset, n)
left join %[1]s as g on g.key = v.key
where g.key is null or (g.number, g.source_offset) < (v.number, v.source_offset) and v.source_offset > g.delete_offset`

func (s *Sink) compare(ctx context.Context, batch []*repeatJob) error {
	began := time.Now()
	known, err := s.known(ctx, s.refreshAge)
	if err != nil {
		return s.withRequest(began, err)
	}
	var keys, hashes, sources []string
	var numbers, offsets []int64
	for _, j := range batch {
		keys, hashes, sources = append(keys, string(j.Key)), append(hashes, j.ContentHash), append(sources, j.Source)
		numbers, offsets = append(numbers, j.Version.Number), append(offsets, j.Version.Offset)
	}
	var stale []int64
	var all pgx.Batch
	all.Queue(known.raise, keys, numbers, offsets, hashes, sources)
	all.Queue(known.older, keys, numbers, offsets).Query(func(rows pgx.Rows) (err error) {
		stale, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := s.db.SendBatch(ctx, &all).Close(); err != nil {
		return s.withRequest(began, s.db.Lost(err))
	}
	for _, n := range stale {
		batch[n-1].stale = true
	}
	return nil
}
