package dlqindex

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Cell is a cell of a grid over a map, with the dead letters whose bounding box has its centre there.
type Cell struct {
	Letters, Pending int
	X, Y             float64 // mean of the centres, in the coordinates of the source
	Area             deadletters.BBox
	ID               string // of the only dead letter; empty of several, and where they were counted beforehand
}

// Cells is a grid over the places of selected dead letters.
type Cells struct {
	View    deadletters.BBox // what the grid covers, in the coordinates of the source
	Each    []Cell           // cells with dead letters, from south to north, then from west to east
	NoPlace int              // dead letters whose feature has no bounding box
	Outside int              // dead letters whose box meets the view, with its centre outside
}

// manyPlaces is from how many letters on a map is made of the cells that are counted beforehand.
const manyPlaces = 10_000

// Cells counts the selected letters by the cells of a grid with at most so many columns and rows: over the query's bounding box, or
// without one over all centres.
func (d *DLQ) Cells(ctx context.Context, q Query, columns, rows int) (Cells, error) {
	stop := q.watch()
	defer stop()
	var out Cells
	err := d.store.reading(ctx, func(t *tx) error {
		g, err := d.counted(t, q, manyPlaces, columns, rows)
		if err == nil && g == nil {
			g, err = d.placed(t, q, columns, rows)
		}
		if err != nil {
			return err
		}
		out = g.cells()
		return t.name(out.Each)
	})
	return out, wrapped("place the dead letters of "+d.topic, err)
}

// placed reads the place of each selected letter.
func (d *DLQ) placed(t *tx, q Query, columns, rows int) (*grid, error) {
	table, id := t.readAll(q), "q.id"
	if t.engine == SQLite {
		id = "CAST(q.rowid AS TEXT)" // see tx.name
		if q.Text == "" && len(q.Headers)+len(q.Features)+len(q.IDs) == 0 {
			table += " INDEXED BY idx_dlq_died" // has all that is asked for; rows are large
		}
	}
	g, c := newGrid(q.BBox, smallest, columns, rows), d.condition(q)
	return g, t.found("SELECT q.west, q.south, q.east, q.north, CASE WHEN q.status = 'pending' THEN 1 ELSE 0 END, "+id+" FROM "+table+c.where(), func(rows *sql.Rows) error {
		var west, south, east, north sql.NullFloat64
		one := Cell{Letters: 1}
		err := rows.Scan(&west, &south, &east, &north, &one.Pending, &one.ID)
		x, y, known := centreOf(&deadletters.BBox{West: west.Float64, South: south.Float64, East: east.Float64, North: north.Float64})
		if one.X, one.Y = x, y; known && west.Valid {
			g.add(one)
		} else {
			g.noPlace++
		}
		return err
	}, c.args...)
}

// errEnough ends the reading of cells.
var errEnough = errors.New("the next level has too many cells")

// counted places letters by the cells that count them, of the finest level that has all of them in few cells. It returns nil where rows have
// to be read: for fewer letters than least, with another filter than their status, and where they lie close together.
func (d *DLQ) counted(t *tx, q Query, least, columns, rows int) (*grid, error) {
	if !q.counted() {
		return nil, nil
	}
	total, err := d.count(t, q)
	if err != nil || total < least {
		return nil, err
	}
	c := &condition{engine: t.engine}
	c.add("q.dlq = ? AND q.gone = ? AND q.letters > 0", d.number, flag(q.Gone))
	among(c, "status", q.Statuses)
	best := newGrid(nil, smallest, columns, rows)
	level, read, now := math.MaxInt, 0, best
	take := func() {
		if now.letters >= best.letters { // those of a finer level may have a part
			best = now
		}
	}
	err = t.found("SELECT q.level, q.x, q.y, q.status, q.letters, q.east, q.north FROM @dead_letter_cell AS q"+c.where()+" ORDER BY q.level DESC", func(rowsOf *sql.Rows) error {
		var key cellKey
		var s cellSums
		if err := rowsOf.Scan(&key.level, &key.x, &key.y, &key.status, &s.letters, &s.east, &s.north); err != nil {
			return err
		}
		if key.level != level {
			take()
			level, read, now = key.level, 0, newGrid(nil, side(key.level), columns, rows)
		}
		if read++; read > 16*columns*rows {
			return errEnough
		}
		now.add(cellOf(key, s))
		return nil
	}, c.args...)
	switch {
	case err == nil:
		take()
	case !errors.Is(err, errEnough):
		return nil, err
	}
	if best.letters > 0 && max(best.last[0]-best.first[0], best.last[1]-best.first[1]) < 3 {
		return nil, nil
	}
	best.noPlace = total - best.letters
	return best, nil
}

// name puts the ids of letters in the place of the numbers of their rows, which alone every index of SQLite has.
func (t *tx) name(cells []Cell) error {
	at := map[string]*Cell{}
	var numbers []string
	for i := range cells {
		if c := &cells[i]; c.ID != "" && t.engine == SQLite {
			at[c.ID] = c
			numbers = append(numbers, c.ID)
		}
	}
	return chunked(numbers, func(some []string) error {
		return t.found("SELECT CAST(q.rowid AS TEXT), q.id FROM @dead_letter_queue AS q WHERE q.rowid IN "+placeholders(1, len(some)), func(rows *sql.Rows) error {
			var number, id string
			err := rows.Scan(&number, &id)
			if c := at[number]; c != nil {
				c.ID = id
			}
			return err
		}, arguments(some)...)
	})
}
