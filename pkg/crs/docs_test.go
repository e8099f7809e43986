package crs

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the generated parts of docs/crs.md")

const docsPage = "../../docs/crs.md"

// TestDocs_S1_4_the_page_lists_what_is_supported holds the tables of docs/crs.md to the
// code, and to the differences to PROJ that testdata/dense.py found.
func TestDocs_S1_4_the_page_lists_what_is_supported(t *testing.T) {
	raw := must.Get(os.ReadFile(docsPage))(t)
	page := string(raw)
	found := readDifferences(t)
	for name, table := range map[string]string{
		"systems": systemsTable(t, found), "operations": operationsTable(), "grids": gridsTable(found), "heights": heightsTable(found),
	} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
		from := strings.Index(page, begin)
		if from < 0 {
			t.Fatalf("%s has no part %q", docsPage, begin)
		}
		from += len(begin)
		to := from + strings.Index(page[from:], end)
		if *update {
			page = page[:from] + table + page[to:]
		} else if page[from:to] != table {
			t.Errorf("%s: the table of %s is stale; run this test with -update", docsPage, name)
		}
	}
	if *update {
		must.Do(t, os.WriteFile(docsPage, []byte(page), 0o644))
	}
}

// differences are those of testdata/dense.json, metres.
type differences struct {
	PROJ           string
	Systems, Grids map[string]struct{ Forward, Inverse float64 }
}

func readDifferences(t *testing.T) differences {
	t.Helper()
	var d differences
	raw, err := os.ReadFile("testdata/dense.json")
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// systemsTable has a row for each system, or for each run of codes that differ in their
// zone.
func systemsTable(t *testing.T, d differences) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Codes | Name | Method (EPSG) | To WGS 84 | Difference to PROJ | Reaches |\n|---|---|---|---|---|---|\n")
	codes := Codes()[1:]
	missing := maps.Clone(d.Systems)
	for i := 0; i < len(codes); {
		first, _ := Lookup(codes[i])
		worst := 0.0
		n := 0
		for ; i+n < len(codes); n++ {
			c, _ := Lookup(codes[i+n])
			if n > 0 && (number(codes[i+n]) != number(codes[i])+n || !alike(first, c)) {
				break
			}
			diff, known := d.Systems[c.code]
			if !known {
				t.Errorf("testdata/dense.json does not have %s: run testdata/dense.py", c.code)
			}
			worst = max(worst, diff.Forward, diff.Inverse)
			delete(missing, c.code)
		}
		last, _ := Lookup(codes[i+n-1])
		label := strings.Join(shorten(codes[i:i+n]), ", ")
		if first.code == "EPSG:4326" {
			label = "OGC:CRS84, " + label
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s m | %s | %s |\n", label, between(first.name, last.name), first.Method(),
			trim(toWGS84(t, first)), length(worst), reach(first, last))
		i += n
	}
	for code := range missing {
		t.Errorf("testdata/dense.json has %s, which is not supported", code)
	}
	return b.String()
}

// alike reports whether two systems share a row.
func alike(a, b *CRS) bool {
	return a.datum == b.datum && a.method == b.method && a.projection != nil && (near(a.domain, b.domain) || near(a.Domain(), b.Domain()))
}

func near(a, b Bounds) bool {
	return math.Abs(a.MinX-b.MinX)+math.Abs(a.MinY-b.MinY)+math.Abs(a.MaxX-b.MaxX)+math.Abs(a.MaxY-b.MaxY) < 1e-9
}

// between joins the names of the first and the last system of a row.
func between(first, last string) string {
	if first == last {
		return first
	}
	a, b := strings.Fields(first), strings.Fields(last)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return first + " to " + strings.Join(b[same:], " ")
}

func toWGS84(t *testing.T, c *CRS) float64 {
	t.Helper()
	world, _ := EPSG(4326)
	tr := must.Get(NewTransform(c, world))(t)
	return tr.Accuracy().Metres
}

// reach says which longitudes and latitudes the systems of a row reach.
func reach(first, last *CRS) string {
	d := first.Domain()
	north := latitude(d.MinY) + " to " + latitude(d.MaxY)
	switch {
	case first.domain.MaxX-first.domain.MinX >= 360 && d.MinY == -90 && d.MaxY == 90:
		return "the world"
	case first.domain.MaxX-first.domain.MinX >= 360:
		return north
	case first != last && near(first.domain, last.domain) && !near(first.Domain(), last.Domain()):
		return trim(first.domain.MaxX) + "° to each side, " + north
	}
	return longitude(d.MinX) + " to " + longitude(d.MaxX) + ", " + north
}

func latitude(v float64) string { return trim(math.Abs(v)) + side(v, "°S", "°N") }

func longitude(v float64) string { return trim(math.Abs(v)) + side(v, "°W", "°E") }

func side(v float64, negative, positive string) string {
	switch {
	case v < 0:
		return negative
	case v > 0:
		return positive
	}
	return "°"
}

// trim writes a number with two decimals at the most; the smallest accuracies have three.
func trim(v float64) string {
	if v < 0.1 || v > 1 && v < 1.01 {
		return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// length writes a small length.
func length(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1e-6:
		return trim(math.Ceil(v*1e8)/1e2) + " µm"
	case v < 1e-3:
		return trim(math.Ceil(v*1e7)/1e1) + " µm"
	}
	return trim(math.Ceil(v*1e4)/1e1) + " mm"
}

// operationsTable has a row for each operation by parameters, and for those of two
// datums that differ in their name alone.
func operationsTable() string {
	var b strings.Builder
	b.WriteString("| Operation | Method | Accuracy | Note |\n|---|---|---|---|\n")
	for r := range rows(shiftTable) {
		if s := r.shift(); s.kind != shiftGrid {
			fmt.Fprintf(&b, "| %s | %s | %s m | %s |\n", s.title(), s.method(), trim(s.accuracy), s.note)
		}
	}
	return b.String()
}

// gridsTable has a row for each known file.
func gridsTable(d differences) string {
	var b strings.Builder
	b.WriteString("| File | Operation | Accuracy | Difference to PROJ |\n|---|---|---|---|\n")
	for _, f := range KnownGrids() {
		diff := "not compared"
		if found, ok := d.Grids[f.Name]; ok {
			diff = length(max(found.Forward, found.Inverse))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s m | %s |\n", f.Name, f.Operation, trim(f.Metres), diff)
	}
	return b.String()
}

// heightsTable has a row for each system of heights.
func heightsTable(d differences) string {
	var b strings.Builder
	b.WriteString("| Heights | Name | File | Operation | Accuracy | Difference to PROJ |\n|---|---|---|---|---|---|\n")
	files := map[string]GeoidFile{}
	for _, f := range KnownGeoids() {
		files[f.Heights] = f
	}
	for r := range rows(heightTable) {
		code := "EPSG:" + r[heightCode]
		f, needed := files[code]
		if !needed {
			fmt.Fprintf(&b, "| %s | %s | none | | | |\n", code, r[heightName])
			continue
		}
		diff := "not compared"
		if found, ok := d.Grids[f.Name]; ok {
			diff = length(found.Forward)
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s m | %s |\n", code, f.Title, f.Name, f.Operation, trim(f.Metres), diff)
	}
	return b.String()
}

// Every line of the tables can be read, and says what it should.
func TestTables_can_be_read(t *testing.T) {
	var ranks []int
	last := 0
	for r := range rows(systemTable) {
		if len(r) != systemColumns {
			t.Fatalf("%q has %d columns", r, len(r))
		}
		for column := colArea; column < systemColumns; column++ {
			if math.IsNaN(r.number(column)) {
				t.Errorf("%s: column %d is %q", r[colCode], column, r[column])
			}
		}
		if code := r.code(colCode); code <= last {
			t.Errorf("%d comes after %d", code, last)
		} else {
			last = code
		}
		if _, known := findSystem(r.code(colDatum)); !known {
			t.Errorf("%s: no datum %s", r[colCode], r[colDatum])
		}
		projected := r[colMethod] != methodGeographic && r[colMethod] != methodDatum
		if projected != (newProjection(r[colMethod], wgs84.ellipsoid(), r) != nil) || r[colMethod] != methodDatum && methodOf(r[colMethod]) == "" {
			t.Errorf("%s: method %q", r[colCode], r[colMethod])
		}
		ranks = append(ranks, r.code(colRank))
	}
	slices.Sort(ranks)
	for i, rank := range ranks {
		if i != rank {
			t.Fatalf("rank %d is missing", i)
		}
	}
	for r := range rows(shiftTable) {
		s := r.shift()
		if len(r) != shiftColumns || s.from.name() == "" || s.to.name() == "" || math.IsNaN(s.params.tx+s.params.scale+s.accuracy) || s.kind == shiftGrid && s.files[0] == "" {
			t.Errorf("%q", r)
		}
	}
	for r := range rows(heightTable) {
		if len(r) != heightColumns || datum(r.code(heightDatum)).name() == "" || math.IsNaN(r.number(heightAccuracy)) {
			t.Errorf("%q", r)
		}
	}
	for r := range rows(nameTable) {
		if _, ok := parseArea(r[nameArea]); len(r) != nameColumns || r[nameArea] != "" && !ok {
			t.Errorf("%q", r)
		}
	}
}
