package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// noteVersions is the note about keys whose version is not in the output topic.
const noteVersions = "rows that have lost their versions (source.version) are not repaired: send or replay their events again"

// repairable sets the version under which a row is written again, and reports whether there is one. The event that the guard has keeps
// the guard's version, as after a crash. Another event has its position in the source as version, unless source.version is configured.
func (r *verification) repairable(it *verifiedKey, f Fact) bool {
	switch {
	case f.Known && f.Source == it.row.Source, f.Known && f.Same && f.Deleted == it.topic.deletes:
		it.row.Version, it.row.Source = f.Version, f.Source
	case r.cfg.Source.Version != "":
		r.once(noteVersions)
		return false
	default:
		it.row.Version = header.Version{Offset: it.topic.place}
	}
	return true
}

func (r *verification) once(note string) {
	if slices.Contains(r.report.Notes, note) {
		return
	}
	r.report.Notes = append(r.report.Notes, note)
}

// repair writes rows as the pipeline does: an older version never replaces a newer one. It counts the rows that are right afterwards.
func (r *verification) repair(ctx context.Context, wrong []*verifiedKey) error {
	if len(wrong) == 0 {
		return nil
	}
	var evict []string
	for _, it := range wrong {
		if it.topic.deletes && it.row.RowKey == nil {
			evict = append(evict, string(it.row.Key))
		}
	}
	if err := r.write(ctx, wrong); err != nil {
		return err
	}
	if len(evict) > 0 && r.byRecordKey() { // rows that were written again after their delete
		if _, err := r.table.Evict(ctx, evict); err != nil {
			return err
		}
	}
	facts, err := r.check(ctx, wrong)
	if err != nil {
		return err
	}
	for i, it := range wrong {
		if kind := differenceOf(it.topic, facts[i]); kind == "" || kind == DifferenceAhead {
			r.report.Repaired++
		}
	}
	return nil
}

// write writes each row as a record of its own. A row that the table refuses becomes a note; a database that is down is an error.
func (r *verification) write(ctx context.Context, wrong []*verifiedKey) error {
	errs := make([]error, len(wrong))
	var all sync.WaitGroup
	for i, it := range wrong {
		all.Go(func() { errs[i] = r.table.Write(ctx, []*Row{it.row}) })
	}
	all.Wait()
	for i, err := range errs {
		if _, down := errors.AsType[*retrytopics.UnavailableError](err); down || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil && len(r.report.Notes) < r.o.Limit {
			r.once(fmt.Sprintf("%q is not repaired: %v", wrong[i].row.Key, err))
		}
	}
	return nil
}

func (r *verification) byRecordKey() bool {
	return r.cfg.Sink.Key == config.SinkKeyRecord
}
