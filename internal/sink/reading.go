package sink

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/postgres"
)

// reading is the database's description of a table, and the statements for it.
type reading struct {
	table
	upsert, removal string
	raise, older    string // for repeats
	stage           stage
	notes           []Mismatch // with which rows can be written
	at              time.Time
}

// The age up to which a reading is used: for writing, so that every instance soon uses a new column, and for refusing a
// row.
const (
	refreshAge = 15 * time.Second
	freshAge   = time.Second
)

// known returns the database's description of the table, at most so old. The error is a *TableError if nothing can be
// written.
func (s *Sink) known(ctx context.Context, age time.Duration) (*reading, error) {
	fits := func() *reading {
		if r := s.table.Load(); r != nil && time.Since(r.at) < age {
			return r
		}
		return nil
	}
	if r := fits(); r != nil {
		return r, nil
	}
	s.asks.Lock()
	defer s.asks.Unlock()
	if r := fits(); r != nil { // another writer has asked meanwhile
		return r, nil
	}
	s.table.Store(nil)
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.table.Store(now)
	return now, nil
}

// read asks the database.
func (s *Sink) read(ctx context.Context) (*reading, error) {
	now := &reading{table: s.plain, at: time.Now()}
	found, err := s.describe(ctx, &now.table)
	if err != nil {
		return nil, err
	}
	now.notes = now.compare(found)
	if stops := slices.DeleteFunc(slices.Clone(now.notes), func(m Mismatch) bool { return m.Reach != ReachAll }); len(stops) > 0 {
		return nil, &TableError{Table: now.name, Mismatches: stops}
	}
	now.stage = now.newStage(lockWait(s.timeout))
	now.upsert, now.removal = now.upsertSQL(now.stage.name), now.table.removal()
	now.raise, now.older = fmt.Sprintf(raise, now.guard), fmt.Sprintf(older, now.guard)
	return now, nil
}

// describe reads the description of the table and its guard. If a connected database cannot describe them, no record can
// be written: the schema may not be used, or PostGIS is missing.
func (s *Sink) describe(ctx context.Context, t *table) (facts, error) {
	found, err := describe(ctx, s.db, t.quoted, t.guard)
	if err == nil || postgres.Connecting(err) || s.classify(err).Transient() {
		return found, err
	}
	return found, &TableError{Table: t.name, Mismatches: []Mismatch{{Fault: "cannot be looked at: " + err.Error(), Reach: ReachAll}}, Err: err}
}

// same reports whether two readings found the same table.
func (r *reading) same(other *reading) bool {
	return r != nil && other != nil && r.upsert == other.upsert && r.place == other.place && fmt.Sprint(r.columns, r.unfit) == fmt.Sprint(other.columns, other.unfit)
}

// Prepare compares the table with what will be written to it. It returns the mismatches with which the consumer can
// write nevertheless, and a *TableError with those with which it cannot.
func (s *Sink) Prepare(ctx context.Context) (notes []Mismatch, err error) {
	probe := s.plain
	facts, err := s.describe(ctx, &probe)
	if err != nil {
		return nil, err
	}
	found := probe.compare(facts)
	for _, m := range found {
		if !m.refuses() {
			notes = append(notes, m)
		}
	}
	if refused := slices.DeleteFunc(found, func(m Mismatch) bool { return !m.refuses() }); len(refused) > 0 {
		return notes, &TableError{Table: probe.name, Mismatches: refused}
	}
	return notes, nil
}
