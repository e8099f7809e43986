package dlqindex

import (
	"fmt"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Every selected letter is in one cell, outside of the view, or without a place.
func TestCells_S4_6_count_centres_by_a_grid(t *testing.T) {
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		boxes := []string{
			"8,47,9,48", "8.2,47.2,8.8,47.8", "10.5,50.5,10.5,50.5", "-179,-20,-177,-18", "179,-18,-175,-16", "177,-18,-179,-16", // the last two cross the antimeridian
			"", "no box", "1e308,0,1.7e308,1", "-1e9,0,2e9,1",
		}
		for i, box := range boxes {
			w.put(w.dead(0, fmt.Sprint(i), func(c *header.Control) { c.BBox = box }))
		}
		w.put(state(0, "0", deadletters.Discarded, 0))
		w.sync()
		ask := func(q Query, columns, rows int) Cells {
			t.Helper()
			got := must.Get(w.dlq().Cells(t.Context(), q, columns, rows))(t)
			sum := got.NoPlace + got.Outside
			for _, cell := range got.Each {
				sum += cell.Letters
			}
			q.Limit = 0
			n, err := w.dlq().Count(t.Context(), q)
			expect.That(t, err == nil && n == sum, "%d of %d letters are counted (%v): %+v", sum, n, err, got)
			return got
		}
		all := ask(Query{}, 4, 2)
		expect.That(t, all.NoPlace == 4 && all.View == (deadletters.BBox{West: -178, South: -19, East: 179, North: 50.5}), "%+v", all)
		near := ask(Query{Filter: deadletters.Filter{BBox: &deadletters.BBox{West: 8, South: 47, East: 11, North: 51}}}, 3, 4)
		want := []Cell{
			{Letters: 2, Pending: 1, X: 8.5, Y: 47.5, Area: deadletters.BBox{West: 8, South: 47, East: 9, North: 48}, Example: "0"},
			{Letters: 1, Pending: 1, X: 10.5, Y: 50.5, Area: deadletters.BBox{West: 10, South: 50, East: 11, North: 51}, Example: "2"},
		}
		expect.That(t, same(near.Each, want), "%+v", near)
		across := ask(Query{Filter: deadletters.Filter{BBox: &deadletters.BBox{West: 178, South: -20, East: -176, North: -16}}}, 2, 1)
		want = []Cell{
			{Letters: 1, Pending: 1, X: 179, Y: -17, Area: deadletters.BBox{West: 178, South: -20, East: -179, North: -16}, Example: "5"},
			{Letters: 2, Pending: 2, X: -178, Y: -18, Area: deadletters.BBox{West: -179, South: -20, East: -176, North: -16}, Example: "3"},
		}
		expect.That(t, same(across.Each, want), "%+v", across)
		half := ask(Query{Filter: deadletters.Filter{BBox: &deadletters.BBox{West: 8, South: 47, East: 8.4, North: 48}}}, 2, 2)
		expect.That(t, half.Outside == 2 && len(half.Each) == 0, "%+v", half)
		none := ask(Query{Filter: deadletters.Filter{Codes: []string{"none"}}}, 2, 2)
		expect.That(t, none.Each == nil && none.NoPlace == 0, "%+v", none)
	})
}

// same compares cells to a millionth.
func same(got, want []Cell) bool {
	text := func(cells []Cell) (out string) {
		for _, c := range cells {
			out += fmt.Sprintf("%d %d %.6f %.6f %.6f %.6f %.6f %.6f %s\n", c.Letters, c.Pending, c.X, c.Y, c.Area.West, c.Area.South, c.Area.East, c.Area.North, c.Example)
		}
		return out
	}
	return text(got) == text(want)
}
