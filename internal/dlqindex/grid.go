package dlqindex

import (
	"database/sql"
	"math"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Letters with a place are counted in cells of several grids, so that a map of all letters need not read them. The side of a cell is a power
// of four: of a place in degrees from 1/16 to 16, of others from 1024 on. The grid of the largest cells has all.
const (
	finestDegrees, coarsestDegrees = -2, 2
	finestOther, coarsest          = 5, 14

	sideParts = 1 << 20 // in which places in a cell are summed: sums of whole numbers do not depend on their order
)

func side(level int) float64 { return math.Ldexp(1, 2*level) }

// cellKey names a row of dead_letter_cell.
type cellKey struct {
	gone        bool
	level, x, y int
}

// cellSums is what dead_letter_cell counts.
type cellSums struct{ letters, pending, east, north int64 }

// centreOf is the centre of a box as [centreX] and [centreY] have it; ok is false where there is no place.
func centreOf(b *deadletters.BBox) (x, y float64, ok bool) {
	for _, v := range [...]float64{b.West, b.South, b.East, b.North} {
		if math.Abs(v) > 1e9 {
			return 0, 0, false
		}
	}
	x, y = b.West/2+b.East/2, b.South/2+b.North/2
	if b.Crosses() {
		x = (b.West + b.East) / 2
		if b.West+b.East > 0 {
			x -= 180
		} else {
			x += 180
		}
	}
	return x, y, true
}

// cellAt returns the cell of a place, and where in it the place is.
func cellAt(level int, x, y float64) (key cellKey, east, north int64) {
	x, y = x/side(level), y/side(level)
	column, row := math.Floor(x), math.Floor(y)
	return cellKey{level: level, x: int(column), y: int(row)}, int64((x - column) * sideParts), int64((y - row) * sideParts)
}

// addCells counts a letter n times in its cells.
func (c *tally) addCells(l *counted, n int64) {
	finest, last := finestDegrees, coarsestDegrees
	if math.Abs(l.x) > 180 || math.Abs(l.y) > 90 {
		finest, last = finestOther, coarsest-1
	}
	for level := finest; level <= coarsest; level++ {
		if level > last {
			level = coarsest
		}
		key, east, north := cellAt(level, l.x, l.y)
		key.gone = l.gone
		s := c.cells[key]
		c.cells[key] = cellSums{s.letters + n, s.pending + n*flag(l.status == deadletters.Pending), s.east + n*east, s.north + n*north}
		if n > 0 {
			c.examples[key] = l.id
		}
	}
}

// writeCells adds the differences to the cells of a DLQ.
func (c *tally) writeCells(t *tx, dlq int64) error {
	var cells [][]any
	for key, s := range c.cells {
		cells = append(cells, []any{dlq, flag(key.gone), key.level, key.x, key.y, s.letters, s.pending, s.east, s.north, c.examples[key]})
	}
	_, err := t.rows("INSERT INTO @dead_letter_cell AS c (dlq, gone, level, x, y, letters, pending, east, north, example) VALUES ", cells,
		" ON CONFLICT (dlq, gone, level, x, y) DO UPDATE SET letters = c.letters + excluded.letters, pending = c.pending + excluded.pending, "+
			"east = c.east + excluded.east, north = c.north + excluded.north, example = CASE WHEN excluded.example = '' THEN c.example ELSE excluded.example END")
	return err
}

// readCells reads the cells of a DLQ.
func (c *tally) readCells(t *tx, dlq int64) error {
	return t.found("SELECT gone, level, x, y, letters, pending, east, north FROM @dead_letter_cell WHERE dlq = ?", func(rows *sql.Rows) error {
		var key cellKey
		var s cellSums
		err := rows.Scan(&key.gone, &key.level, &key.x, &key.y, &s.letters, &s.pending, &s.east, &s.north)
		c.cells[key] = s
		return err
	}, dlq)
}

// counted places all letters, which are total, by the cells that count them. done is false where the rows have to be read: the letters lie too close together, or
// the example of a cell has left it.
func (d *DLQ) counted(t *tx, q Query, out *Cells, total, columns, rows int) (done bool, err error) {
	level, known, err := d.level(t, q, columns*8/5, rows*8/5)
	if err != nil || known > 0 && level == coarsest {
		return false, err
	}
	around := noView()
	size := side(level)
	err = t.found("SELECT x, y, letters, pending, east, north, example FROM @dead_letter_cell WHERE dlq = ? AND gone = ? AND level = ? AND letters > 0 ORDER BY y, x", func(rows *sql.Rows) error {
		var x, y, east, north float64
		var cell Cell
		err := rows.Scan(&x, &y, &cell.Letters, &cell.Pending, &east, &north, &cell.Example)
		inside := float64(cell.Letters) * sideParts
		cell.X, cell.Y = (x+east/inside)*size, (y+north/inside)*size
		cell.Area = deadletters.BBox{West: x * size, South: y * size, East: (x + 1) * size, North: (y + 1) * size}
		if level <= coarsestDegrees {
			cell.Area = deadletters.BBox{West: max(cell.Area.West, -180), South: max(cell.Area.South, -90), East: min(cell.Area.East, 180), North: min(cell.Area.North, 90)}
		}
		around = deadletters.BBox{West: min(around.West, cell.Area.West), South: min(around.South, cell.Area.South), East: max(around.East, cell.Area.East), North: max(around.North, cell.Area.North)}
		out.Each = append(out.Each, cell)
		return err
	}, d.number, flag(q.Gone), level)
	if err != nil {
		return false, err
	}
	if done, err = d.exemplary(t, q, level, out.Each); err != nil || !done {
		out.Each = nil
		return false, err
	}
	if out.NoPlace = total - known; known > 0 {
		out.View = around
	}
	return true, nil
}

func noView() deadletters.BBox {
	return deadletters.BBox{West: math.Inf(1), South: math.Inf(1), East: math.Inf(-1), North: math.Inf(-1)}
}

// level chooses the finest grid that has all letters with a place in so many columns and rows; [coarsest] when it is none. It returns how many
// letters those are.
func (d *DLQ) level(t *tx, q Query, columns, rows int) (chosen, known int, err error) {
	chosen = coarsest
	for level := coarsest; level >= finestDegrees; level-- {
		if level < finestOther && level > coarsestDegrees {
			continue
		}
		var letters, west, east, south, north sql.NullInt64
		err := t.row("SELECT CAST(sum(letters) AS BIGINT), min(x), max(x), min(y), max(y) FROM @dead_letter_cell WHERE dlq = ? AND gone = ? AND level = ? AND letters > 0",
			d.number, flag(q.Gone), level).Scan(&letters, &west, &east, &south, &north)
		switch {
		case err != nil:
			return chosen, known, err
		case level == coarsest:
			known = int(letters.Int64)
		case known == 0 || int(letters.Int64) < known: // others lie elsewhere
		case east.Int64-west.Int64 >= int64(columns) || north.Int64-south.Int64 >= int64(rows):
			return chosen, known, nil
		case max(east.Int64-west.Int64, north.Int64-south.Int64) >= 3:
			chosen = level
		}
	}
	return chosen, known, nil
}

// exemplary reports whether the example of each cell lies in it.
func (d *DLQ) exemplary(t *tx, q Query, level int, cells []Cell) (bool, error) {
	of := map[string]cellKey{}
	ids := make([]string, 0, len(cells))
	for i := range cells {
		ids = append(ids, cells[i].Example)
	}
	err := chunked(ids, func(some []string) error {
		return t.each("WHERE q.dlq = ? AND q.gone = ? AND q.id IN "+placeholders(1, len(some)), func(r *row) error {
			if l := r.counted(); l.placed {
				of[l.id], _, _ = cellAt(level, l.x, l.y)
			}
			return nil
		}, append([]any{d.number, flag(q.Gone)}, arguments(some)...)...)
	})
	for i := range cells {
		if key, _, _ := cellAt(level, cells[i].X, cells[i].Y); of[cells[i].Example] != key {
			return false, err
		}
	}
	return true, err
}
