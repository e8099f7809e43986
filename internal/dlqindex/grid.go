package dlqindex

import (
	"cmp"
	"database/sql"
	"maps"
	"math"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// smallest is the side of the smallest cells of a map: some millimetres in degrees.
const smallest = 1.0 / (1 << 24)

// grid counts places by cells. The cells of a view divide it evenly. Without a view they lie at multiples of their sides, and a side doubles
// until all places are within as many columns or rows as there may be.
type grid struct {
	most        [2]int64 // columns and rows
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
	g := &grid{most: [2]int64{int64(columns), int64(rows)}, view: view, side: [2]float64{side, side}, found: map[[2]int64]Cell{}, degrees: true}
	if view != nil {
		g.origin = [2]float64{view.West, view.South}
		g.side = [2]float64{cellSize(view.West, g.unrolled(view.East), columns), cellSize(view.South, view.North, rows)}
	}
	return g
}

// cellSize divides a span, so that its end lies in the last cell, too.
func cellSize(from, to float64, cells int) float64 {
	return max(to-from, 1e-9) / float64(cells) * (1 + 1e-9)
}

// unrolled returns a longitude as one to the east of the western edge of a view over the antimeridian, and rolled takes it back.
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

// add counts letters at their mean place.
func (g *grid) add(c Cell) {
	c.X = g.unrolled(c.X)
	var at [2]int64
	for i, v := range [2]float64{c.X, c.Y} {
		at[i] = int64(math.Floor((v - g.origin[i]) / g.side[i]))
		if g.view != nil && (at[i] < 0 || at[i] >= g.most[i]) {
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
		for g.last[i]-g.first[i] >= g.most[i] {
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

// double makes one column or row of two.
func (g *grid) double(i int) {
	old := g.found
	g.found = make(map[[2]int64]Cell, len(old))
	for at, c := range old {
		at[i] >>= 1 // rounds down
		g.put(at, c)
	}
	g.side[i], g.first[i], g.last[i] = 2*g.side[i], g.first[i]>>1, g.last[i]>>1
}

// cells returns what was counted.
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

// Letters with a place are counted in cells of several levels when they are indexed, so that a map of many need not read them. The side of a
// cell is a power of four: of a place in degrees from 1/16 to 16, of others from 1024 on. The level of the largest cells has all.
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
	status      deadletters.Status
}

// cellSums is what dead_letter_cell counts.
type cellSums struct{ letters, east, north int64 }

// cellOf returns the letters that a row of dead_letter_cell counts.
func cellOf(key cellKey, s cellSums) Cell {
	inside := float64(s.letters) * sideParts
	c := Cell{Letters: int(s.letters), X: (float64(key.x) + float64(s.east)/inside) * side(key.level), Y: (float64(key.y) + float64(s.north)/inside) * side(key.level)}
	if key.status == deadletters.Pending {
		c.Pending = c.Letters
	}
	return c
}

// centreOf returns the centre of a box. That of one over the antimeridian lies within [-180, 180]. ok is false where there is no place: no
// system has coordinates beyond a thousand million.
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
		x, y := l.x/side(level), l.y/side(level)
		column, row := math.Floor(x), math.Floor(y)
		key := cellKey{gone: l.gone, level: level, x: int(column), y: int(row), status: l.status}
		s := c.cells[key]
		c.cells[key] = cellSums{s.letters + n, s.east + n*int64((x-column)*sideParts), s.north + n*int64((y-row)*sideParts)}
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
