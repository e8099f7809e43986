package dlqindex

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Cell is a cell of a grid over a map, with the dead letters whose bounding box has its centre there.
type Cell struct {
	Letters, Pending int
	X, Y             float64 // mean of the centres, in the coordinates of the source
	Area             deadletters.BBox
	Example          string // id of one of them
}

// Cells is a grid over the places of selected dead letters.
type Cells struct {
	View    deadletters.BBox // what the grid covers, in the coordinates of the source
	Each    []Cell           // cells with dead letters, from south to north, then from west to east
	NoPlace int              // dead letters whose feature has no bounding box
	Outside int              // dead letters whose box meets the view, with its centre outside
}

// The centre of a box in SQL. That of one over the antimeridian lies within [-180, 180]. No system has coordinates beyond a thousand million:
// such boxes count as none, and sums do not overflow.
const (
	centreX = "(CASE WHEN q.west <= q.east THEN q.west / 2 + q.east / 2 WHEN q.west + q.east > 0 THEN (q.west + q.east) / 2 - 180 ELSE (q.west + q.east) / 2 + 180 END)"
	centreY = "(q.south / 2 + q.north / 2)"
	placed  = "q.west BETWEEN -1e9 AND 1e9 AND q.east BETWEEN -1e9 AND 1e9 AND q.south BETWEEN -1e9 AND 1e9 AND q.north BETWEEN -1e9 AND 1e9"
)

// manyPlaces is from how many letters on a map of all is made of the cells that are counted beforehand.
const manyPlaces = 10_000

// Cells counts the selected letters by the cells of a grid over the query's bounding box, or without one over all centres.
func (d *DLQ) Cells(ctx context.Context, q Query, columns, rows int) (Cells, error) {
	stop := q.watch()
	defer stop()
	var out Cells
	err := d.store.reading(ctx, func(t *tx) error {
		if q.unfiltered() {
			if done, err := d.manyCounted(t, q, &out, columns, rows); done || err != nil {
				return err
			}
		}
		known, err := d.extent(t, q, &out)
		if err != nil || known == 0 {
			return err
		}
		if err := d.cells(t, q, &out, columns, rows); err != nil {
			return err
		}
		if t.engine == SQLite {
			if err := t.exampleIDs(out.Each); err != nil {
				return err
			}
		}
		out.Outside = known
		for _, cell := range out.Each {
			out.Outside -= cell.Letters
		}
		return nil
	})
	return out, wrapped("place the dead letters of "+d.topic, err)
}

// manyCounted is counted for many letters.
func (d *DLQ) manyCounted(t *tx, q Query, out *Cells, columns, rows int) (done bool, err error) {
	total, err := d.count(t, q)
	if err != nil || total < manyPlaces {
		return false, err
	}
	return d.counted(t, q, out, total, columns, rows)
}

// extent finds out which part of the world the grid covers. It returns how many letters have a place.
func (d *DLQ) extent(t *tx, q Query, out *Cells) (known int, err error) {
	c := d.condition(q)
	var west, south, east, north sql.NullFloat64
	const of = " FILTER (WHERE " + placed + ")"
	edges := "min(" + centreX + ")" + of + ", min(" + centreY + ")" + of + ", max(" + centreX + ")" + of + ", max(" + centreY + ")" + of
	if q.BBox != nil {
		edges = "NULL, NULL, NULL, NULL"
	}
	err = t.found("SELECT "+edges+", count(*)"+of+", count(*) FROM "+t.placesOf(q)+c.where(),
		func(rows *sql.Rows) error {
			return rows.Scan(&west, &south, &east, &north, &known, &out.NoPlace)
		}, c.args...)
	out.NoPlace -= known
	out.View = deadletters.BBox{West: west.Float64, South: south.Float64, East: east.Float64, North: north.Float64}
	if q.BBox != nil {
		out.View = *q.BBox
	}
	return known, err
}

func (d *DLQ) cells(t *tx, q Query, out *Cells, columns, rows int) error {
	view, crosses := out.View, out.View.Crosses()
	x := centreX
	if crosses {
		view.East += 360
		x = "(CASE WHEN " + centreX + " < " + strconv.FormatFloat(view.West, 'f', -1, 64) + " THEN " + centreX + " + 360 ELSE " + centreX + " END)"
	}
	wide, high := cellSize(view.West, view.East, columns), cellSize(view.South, view.North, rows)
	whole := func(number string) string { // of a number that is not negative
		if t.engine == PostgreSQL {
			number = "floor(" + number + ")"
		}
		return "CAST(" + number + " AS INTEGER)"
	}
	id := "q.id"
	if t.engine == SQLite {
		id = "q.rowid" // see exampleIDs
	}
	c := d.condition(q)
	c.add(placed)
	c.add(x+" BETWEEN ? AND ? AND "+centreY+" BETWEEN ? AND ?", view.West, view.East, view.South, view.North)
	text := "SELECT g.x, g.y, count(*), CAST(sum(g.pending) AS BIGINT), avg(g.centre_x), avg(g.centre_y), min(g.id) FROM (SELECT " +
		whole("("+x+" - ?) / ?") + " AS x, " + whole("("+centreY+" - ?) / ?") + " AS y, " + x + " AS centre_x, " + centreY + " AS centre_y, " +
		"CASE WHEN q.status = 'pending' THEN 1 ELSE 0 END AS pending, " + id + " AS id FROM " + t.placesOf(q) + c.where() + ") AS g GROUP BY g.x, g.y ORDER BY g.y, g.x"
	return t.found(text, func(rows *sql.Rows) error {
		var cell Cell
		var column, row int
		if err := rows.Scan(&column, &row, &cell.Letters, &cell.Pending, &cell.X, &cell.Y, &cell.Example); err != nil {
			return err
		}
		west, south := view.West+float64(column)*wide, view.South+float64(row)*high
		cell.Area = deadletters.BBox{West: west, South: south, East: west + wide, North: south + high}
		if crosses {
			for _, lon := range []*float64{&cell.X, &cell.Area.West, &cell.Area.East} {
				if *lon > 180 {
					*lon -= 360
				}
			}
		}
		out.Each = append(out.Each, cell)
		return nil
	}, append([]any{view.West, wide, view.South, high}, c.args...)...)
}

// placesOf names the table with the index of SQLite that has all that a map needs, where a query filters by nothing else: the rows are large.
func (t *tx) placesOf(q Query) string {
	if t.engine == SQLite && q.Text == "" && len(q.Headers)+len(q.Features)+len(q.IDs) == 0 {
		return "@dead_letter_queue AS q INDEXED BY idx_dlq_died"
	}
	return "@dead_letter_queue AS q"
}

// exampleIDs puts the ids of letters in the place of the numbers of their rows, which alone every index of SQLite has.
func (t *tx) exampleIDs(cells []Cell) error {
	at := make(map[string]*Cell, len(cells))
	numbers := make([]string, len(cells))
	for i := range cells {
		numbers[i] = cells[i].Example
		at[numbers[i]] = &cells[i]
	}
	return chunked(numbers, func(some []string) error {
		return t.found("SELECT CAST(q.rowid AS TEXT), q.id FROM @dead_letter_queue AS q WHERE q.rowid IN "+placeholders(1, len(some)), func(rows *sql.Rows) error {
			var number, id string
			err := rows.Scan(&number, &id)
			if cell := at[number]; cell != nil {
				cell.Example = id
			}
			return err
		}, arguments(some)...)
	})
}

// cellSize divides a span, so that its end lies in the last cell, too.
func cellSize(from, to float64, cells int) float64 {
	return max(to-from, 1e-9) / float64(cells) * (1 + 1e-9)
}
