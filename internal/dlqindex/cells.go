package dlqindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Cell is a cell of a grid over a map, with the dead letters whose bounding box has its centre there.
type Cell struct {
	Letters, Pending int
	X, Y             float64 // mean of the centres, in the coordinates of the source
	Area             deadletters.BBox
	ID               string // of the only dead letter; empty for several, and for cells that were counted beforehand
}

// Cells is a grid over the places of dead letters.
type Cells struct {
	View    deadletters.BBox // the area of the grid, in the coordinates of the source
	Each    []Cell           // cells with dead letters, from south to north, then from west to east
	NoPlace int              // dead letters whose feature has no bounding box
	Outside int              // dead letters whose box meets the view, with its centre outside
}

// manyPlaces is the number of letters from which on a map is drawn from the cells that were counted beforehand.
const manyPlaces = 10_000

// Cells counts the selected letters by the cells of a grid over the query's bounding box, or over all centres without one. columns and
// rows bound the grid.
func (d *DLQ) Cells(ctx context.Context, q Query, columns, rows int) (Cells, error) {
	stop := q.watch()
	defer stop()
	return inSnapshot(ctx, d, "place", func(t *tx) (Cells, error) {
		g, err := d.counted(t, q, manyPlaces, columns, rows)
		if err == nil && g == nil {
			g, err = d.placed(t, q, columns, rows)
		}
		if err != nil {
			return Cells{}, err
		}
		out := g.cells()
		return out, t.name(out.Each)
	})
}

// placed reads the place of each selected letter.
func (d *DLQ) placed(t *tx, q Query, columns, rows int) (*grid, error) {
	table, id := t.readAll(q), "q.id"
	if t.engine == SQLite {
		id = "CAST(q.rowid AS TEXT)" // see tx.name
		if q.Text == "" && len(q.Headers)+len(q.Features)+len(q.IDs) == 0 {
			table += " INDEXED BY idx_dlq_died" // it has all columns that are read; rows are large
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

// errEnough stops the reading of cells.
var errEnough = errors.New("the next level has too many cells")

// counted places letters by the cells that count them, on the finest level that has all of them in few cells. It returns nil if the rows
// must be read instead: for fewer letters than least, with a filter other than the status, and if all lie close together.
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
		if now.letters >= best.letters { // a finer level may have only some of them
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

// name replaces the numbers of rows by the ids of letters. In SQLite, cells have numbers, because every index of SQLite has those and no
// index for maps has ids.
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

// smallest is the side of the smallest cells of a map; in degrees it is some millimetres.
const smallest = 1.0 / (1 << 24)

// grid counts places by cells. The cells of a view divide it evenly. Without a view they lie at multiples of their side, and the side
// doubles until the columns and rows suffice for all places.
type grid struct {
	size        [2]int64 // columns and rows
	view        *deadletters.BBox
	origin      [2]float64 // west and south of the cell 0, 0
	side        [2]float64 // of each cell
	found       map[[2]int64]Cell
	first, last [2]int64 // of the cells with places
	degrees     bool     // all places are within the globe
	letters     int
	noPlace     int
	outside     int
}

func newGrid(view *deadletters.BBox, side float64, columns, rows int) *grid {
	g := &grid{size: [2]int64{int64(columns), int64(rows)}, view: view, side: [2]float64{side, side}, found: map[[2]int64]Cell{}, degrees: true}
	if view != nil {
		g.origin = [2]float64{view.West, view.South}
		g.side = [2]float64{cellSize(view.West, g.unrolled(view.East), columns), cellSize(view.South, view.North, rows)}
	}
	return g
}

// cellSize returns the size of each cell of a span. The end of the span lies in the last cell.
func cellSize(from, to float64, cells int) float64 {
	return max(to-from, 1e-9) / float64(cells) * (1 + 1e-9)
}

// unrolled returns a longitude within a view over the antimeridian as one to the east of the view's western edge. rolled reverses it.
func (g *grid) unrolled(x float64) float64 {
	if g.view != nil && g.view.Crosses() && x < g.view.West {
		return x + 360
	}
	return x
}

func (g *grid) rolled(x float64) float64 {
	if g.view != nil && g.view.Crosses() && x > 180 {
		return x - 360
	}
	return x
}

// add counts letters at the mean of their places.
func (g *grid) add(c Cell) {
	c.X = g.unrolled(c.X)
	var at [2]int64
	for i, v := range [2]float64{c.X, c.Y} {
		at[i] = int64(math.Floor((v - g.origin[i]) / g.side[i]))
		if g.view != nil && (at[i] < 0 || at[i] >= g.size[i]) {
			g.outside += c.Letters
			return
		}
	}
	if g.letters == 0 {
		g.first, g.last = at, at
	}
	g.letters += c.Letters
	g.degrees = g.degrees && math.Abs(c.X) <= 180 && math.Abs(c.Y) <= 90
	g.put(at, c)
	for i := range at {
		g.first[i], g.last[i] = min(g.first[i], at[i]), max(g.last[i], at[i])
		for g.last[i]-g.first[i] >= g.size[i] {
			g.double(i)
		}
	}
}

// put adds letters to those of a cell.
func (g *grid) put(at [2]int64, c Cell) {
	if old, some := g.found[at]; some {
		n, m := float64(old.Letters), float64(c.Letters)
		c.X, c.Y = (old.X*n+c.X*m)/(n+m), (old.Y*n+c.Y*m)/(n+m)
		c.Letters, c.Pending, c.ID = old.Letters+c.Letters, old.Pending+c.Pending, ""
	}
	g.found[at] = c
}

// double merges columns or rows in pairs.
func (g *grid) double(i int) {
	old := g.found
	g.found = make(map[[2]int64]Cell, len(old))
	for at, c := range old {
		at[i] >>= 1 // rounds down
		g.put(at, c)
	}
	g.side[i], g.first[i], g.last[i] = 2*g.side[i], g.first[i]>>1, g.last[i]>>1
}

// cells returns the counted cells in their order.
func (g *grid) cells() Cells {
	out := Cells{NoPlace: g.noPlace, Outside: g.outside}
	for _, at := range slices.SortedFunc(maps.Keys(g.found), func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) }) {
		c := g.found[at]
		c.X, c.Area = g.rolled(c.X), g.area(at, at)
		out.Each = append(out.Each, c)
	}
	switch {
	case g.view != nil:
		out.View = *g.view
	case g.letters > 0:
		out.View = g.area(g.first, g.last)
	}
	return out
}

// area returns the box of some cells.
func (g *grid) area(first, last [2]int64) deadletters.BBox {
	edge := func(i int, n int64) float64 { return g.origin[i] + float64(n)*g.side[i] }
	b := deadletters.BBox{West: edge(0, first[0]), South: edge(1, first[1]), East: edge(0, last[0]+1), North: edge(1, last[1]+1)}
	if g.view == nil && g.degrees {
		return deadletters.BBox{West: max(b.West, -180), South: max(b.South, -90), East: min(b.East, 180), North: min(b.North, 90)}
	}
	b.West, b.East = g.rolled(b.West), g.rolled(b.East)
	return b
}

// The index counts letters with a place in cells of several levels, so that a map of many letters does not read them. The side of a cell
// is a power of four: from 1/16 to 16 for places in degrees, from 1024 on for others. The level of the largest cells counts all places.
const (
	finestDegrees, coarsestDegrees = -2, 2
	finestOther, coarsest          = 5, 14

	sideParts = 1 << 20 // of the side of a cell, the unit of sums: sums of integers do not depend on their order
)

func side(level int) float64 { return math.Ldexp(1, 2*level) }

// cellKey names a row of dead_letter_cell.
type cellKey struct {
	gone        bool
	level, x, y int
	status      deadletters.Status
}

// cellSums is what dead_letter_cell counts.
type cellSums struct{ letters, east, north int64 }

// cellOf returns the cell of a row of dead_letter_cell.
func cellOf(key cellKey, s cellSums) Cell {
	inside := float64(s.letters) * sideParts
	c := Cell{Letters: int(s.letters), X: (float64(key.x) + float64(s.east)/inside) * side(key.level), Y: (float64(key.y) + float64(s.north)/inside) * side(key.level)}
	if key.status == deadletters.Pending {
		c.Pending = c.Letters
	}
	return c
}

// centreOf returns the centre of a box; if the box crosses the antimeridian, its centre lies within [-180, 180]. ok is false if the box is
// no place: no coordinate system reaches beyond a thousand million.
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

// addCells counts a letter n times in the cells of its place.
func (c *tally) addCells(r *row, atX, atY float64, n int64) {
	finest, last := finestDegrees, coarsestDegrees
	if math.Abs(atX) > 180 || math.Abs(atY) > 90 {
		finest, last = finestOther, coarsest-1
	}
	for level := finest; level <= coarsest; level++ {
		if level > last {
			level = coarsest
		}
		x, y := atX/side(level), atY/side(level)
		column, line := math.Floor(x), math.Floor(y)
		key := cellKey{gone: r.gone, level: level, x: int(column), y: int(line), status: r.Status}
		s := c.cells[key]
		c.cells[key] = cellSums{s.letters + n, s.east + n*int64((x-column)*sideParts), s.north + n*int64((y-line)*sideParts)}
	}
}

// writeCells adds the differences to the cells of a DLQ.
func (c *tally) writeCells(t *tx, dlq int64) error {
	var cells [][]any
	for key, s := range c.cells {
		cells = append(cells, []any{dlq, flag(key.gone), key.level, key.x, key.y, string(key.status), s.letters, s.east, s.north})
	}
	_, err := t.rows("INSERT INTO @dead_letter_cell AS c (dlq, gone, level, x, y, status, letters, east, north) VALUES ", cells,
		" ON CONFLICT (dlq, gone, level, x, y, status) DO UPDATE SET letters = c.letters + excluded.letters, east = c.east + excluded.east, north = c.north + excluded.north")
	return err
}

// readCells reads the cells of a DLQ.
func (c *tally) readCells(t *tx, dlq int64) error {
	return t.found("SELECT gone, level, x, y, status, letters, east, north FROM @dead_letter_cell WHERE dlq = ?", func(rows *sql.Rows) error {
		var key cellKey
		var s cellSums
		err := rows.Scan(&key.gone, &key.level, &key.x, &key.y, &key.status, &s.letters, &s.east, &s.north)
		c.cells[key] = s
		return err
	}, dlq)
}
