package crs

import (
	"cmp"
	_ "embed"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// systemTable has one line for each supported system and datum. It is written by
// testdata/table.py from the EPSG dataset, and alone defines
// what is supported: lookups, messages, the page docs/crs.md and the test vectors follow it.
//
//go:embed systems.csv
var systemTable string

// These are the columns of systemTable. Its lines are sorted by code.
const (
	colCode       = 0  // EPSG code
	colRank       = 1  // the position in the order of [Codes]
	colName       = 2  // in the EPSG dataset
	colDatum      = 3  // EPSG code of the geographic system
	colOrder      = 4  // xy or yx, the order of the authority
	colMethod     = 5  // the name of a method in newProjection
	colArea       = 6  // west, south, east, north of the area of use
	colDomain     = 10 // the same for the domain; east is greater than west
	colMeridian   = 14 // the central meridian of the domain and of the projection
	colLatitude   = 15 // of the origin
	colX          = 16 // false easting
	colY          = 17 // false northing
	colScale      = 18
	colParallel1  = 19 // for a datum: semi-major axis
	colParallel2  = 20 // for a datum: inverse flattening
	colBox        = 21 // around the area of use in metres: west, south, east, north
	systemColumns = 25
)

// row is a line of a table, split into columns.
type row []string

// number returns the number in a column, or 0 if it is empty.
func (r row) number(column int) float64 {
	if r[column] == "" {
		return 0
	}
	v, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		return math.NaN() // never happens: a test reads every line
	}
	return v
}

// code returns the EPSG code in a column.
func (r row) code(column int) int {
	n, err := strconv.Atoi(r[column])
	if err != nil {
		return 0
	}
	return n
}

// bounds returns the box in four columns: west, south, east, north.
func (r row) bounds(column int) Bounds {
	return Bounds{r.number(column), r.number(column + 1), r.number(column + 2), r.number(column + 3)}
}

// findSystem returns the line of systemTable with an EPSG code.
func findSystem(code int) (row, bool) {
	low, high := strings.IndexByte(systemTable, '\n')+1, len(systemTable)
	for low < high { // binary search over the byte offsets at which the line can begin
		start := strings.LastIndexByte(systemTable[:(low+high)/2], '\n') + 1
		line, _, _ := strings.Cut(systemTable[start:], "\n")
		first, _, _ := strings.Cut(line, ";")
		switch n, _ := strconv.Atoi(first); {
		case n == code:
			return split(make(row, 0, systemColumns), line), true
		case n < code:
			low = start + len(line) + 1
		default:
			high = start
		}
	}
	return nil, false
}

// ranked returns the lines of systemTable in the order of [Codes].
func ranked() []row {
	var out []row
	for r := range rows(systemTable) {
		out = append(out, slices.Clone(r))
	}
	slices.SortFunc(out, func(a, b row) int { return cmp.Compare(a.code(colRank), b.code(colRank)) })
	return out
}

// rows returns the lines of a table without its head. Each row is valid until the next one.
func rows(table string) iter.Seq[row] {
	return func(yield func(row) bool) {
		var r row
		_, body, _ := strings.Cut(table, "\n")
		for body != "" {
			var line string
			line, body, _ = strings.Cut(body, "\n")
			if r = split(r[:0], line); !yield(r) {
				return
			}
		}
	}
}

// split appends the columns of a line to a row.
func split(r row, line string) row {
	for {
		end := strings.IndexByte(line, ';')
		if end < 0 {
			return append(r, line)
		}
		r = append(r, line[:end])
		line = line[end+1:]
	}
}
