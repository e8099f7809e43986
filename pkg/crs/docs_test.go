package crs

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// docs/crs.md lists every system with its method and its accuracy to WGS 84, and every operation and file with its
// accuracy.
func TestDocs_S1_4_the_page_lists_what_is_supported(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/crs.md"))(t))
	world := must.Get(EPSG(4326))(t)
	var listed []string
	for line := range strings.Lines(page) {
		cells := strings.Split(line, " | ")
		if len(cells) != 6 || !strings.Contains(line, "EPSG:") {
			continue
		}
		for _, code := range codesOf(strings.TrimPrefix(cells[0], "| ")) {
			c := must.Get(Lookup(code))(t)
			metres := must.Get(NewTransform(c, world))(t).Accuracy().Metres
			expect.That(t, cells[2] == c.Method() && cells[3] == accuracy(metres), "%s is by %s, and %s to WGS 84: %s", code, c.Method(), accuracy(metres), line)
			listed = append(listed, code)
		}
	}
	want := Codes()
	expect.That(t, slices.Equal(slices.Sorted(slices.Values(listed)), slices.Sorted(slices.Values(want))), "the page has %d systems of %d: %v", len(listed), len(want), listed)
	var rest []string
	for r := range rows(shiftTable) {
		if s := r.shift(); s.kind != shiftGrid {
			rest = append(rest, fmt.Sprintf("| %s | %s | %s | %s |", s.title(), s.method(), accuracy(s.accuracy), s.note))
		}
	}
	for _, f := range KnownGrids() {
		rest = append(rest, fmt.Sprintf("| `%s` | %s | %s | ", f.Name, f.Operation, accuracy(f.Metres)))
	}
	for _, row := range rest {
		expect.That(t, strings.Contains(page, "\n"+row), "the page has no row %s", row)
	}
}

// codesOf parses a cell such as "OGC:CRS84, EPSG:4326" or "EPSG:25828-25838".
func codesOf(cell string) []string {
	var out []string
	for code := range strings.SplitSeq(cell, ", ") {
		first, last, isRange := strings.Cut(strings.TrimPrefix(code, "EPSG:"), "-")
		if !isRange {
			out = append(out, code)
			continue
		}
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		for n := from; n <= to; n++ {
			out = append(out, "EPSG:"+strconv.Itoa(n))
		}
	}
	return out
}

// accuracy formats metres like the page.
func accuracy(metres float64) string {
	return strconv.FormatFloat(math.Round(metres*1000)/1000, 'f', -1, 64) + " m"
}

// Every line of the tables can be read and is consistent.
func TestTables_can_be_read(t *testing.T) {
	var ranks []int
	last := 0
	for r := range rows(systemTable) {
		must.That(t, len(r) == systemColumns, "%q has %d columns", r, len(r))
		for column := colArea; column < systemColumns; column++ {
			expect.That(t, !math.IsNaN(r.number(column)), "%s: column %d is %q", r[colCode], column, r[column])
		}
		if code := r.code(colCode); code <= last {
			t.Errorf("%d comes after %d", code, last)
		} else {
			last = code
		}
		_, known := findSystem(r.code(colDatum))
		expect.That(t, known, "%s: no datum %s", r[colCode], r[colDatum])
		projected := r[colMethod] != methodGeographic && r[colMethod] != methodDatum
		expect.That(t, projected == (newProjection(r[colMethod], wgs84.ellipsoid(), r) != nil) && (r[colMethod] == methodDatum || methodOf(r[colMethod]) != ""), "%s: method %q", r[colCode], r[colMethod])
		ranks = append(ranks, r.code(colRank))
	}
	slices.Sort(ranks)
	for i, rank := range ranks {
		must.That(t, i == rank, "rank %d is missing", i)
	}
	for r := range rows(shiftTable) {
		s := r.shift()
		expect.That(t, len(r) == shiftColumns && s.from.name() != "" && s.to.name() != "" && !math.IsNaN(s.params.tx+s.params.scale+s.accuracy) && (s.kind != shiftGrid || s.files[0] != ""), "%q", r)
	}
}
