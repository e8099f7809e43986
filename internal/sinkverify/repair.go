package sinkverify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// noteVersions is said of keys whose version is not in the output topic.
const noteVersions = "rows that have lost their versions (source.version) are not repaired: send or replay their events again"

// repairable gives a row the version under which it is written again. The event that the guard has keeps the guard's: it is written
// again as it would be after a crash. Another one takes that of its place in the source, which is all of it without source.version.
func (r *run) repairable(it *item, f sink.Fact) bool {
	switch {
	case f.Known && f.Source == it.row.Source, f.Known && f.Same && f.Deleted == it.said.deletes:
		it.row.Version, it.row.Source = f.Version, f.Source
	case r.cfg.Source.Version != "":
		r.once(noteVersions)
		return false
	default:
		it.row.Version = retrytopics.Version{Offset: it.said.place}
	}
	return true
}

func (r *run) once(note string) {
	if slices.Contains(r.report.Notes, note) {
		return
	}
	r.report.Notes = append(r.report.Notes, note)
}

// repair writes rows as the pipeline does: an older version never takes the place of a newer one. What is right afterwards counts.
func (r *run) repair(ctx context.Context, wrong []*item) error {
	if len(wrong) == 0 {
		return nil
	}
	var evict []string
	for _, it := range wrong {
		if it.said.deletes && it.row.RowKey == nil {
			evict = append(evict, string(it.row.Key))
		}
	}
	if err := r.write(ctx, wrong); err != nil {
		return err
	}
	if len(evict) > 0 && r.byRecordKey() { // a row that stands there again after its delete
		if _, err := r.table.Evict(ctx, evict); err != nil {
			return err
		}
	}
	facts, err := r.check(ctx, wrong)
	if err != nil {
		return err
	}
	for i, it := range wrong {
		if kind := judge(it.said, facts[i]); kind == "" || kind == Ahead {
			r.report.Repaired++
		}
	}
	return nil
}

// write writes each row as a record of its own. What the table refuses is said, and stays as it is; a database that is down ends the run.
func (r *run) write(ctx context.Context, wrong []*item) error {
	errs := make([]error, len(wrong))
	var all sync.WaitGroup
	for i, it := range wrong {
		all.Go(func() { errs[i] = r.table.Write(ctx, []*sink.Row{it.row}) })
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

func (r *run) byRecordKey() bool {
	return r.cfg.Sink.Key == config.SinkKeyRecord
}
