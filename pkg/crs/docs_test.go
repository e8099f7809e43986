package crs

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDocs_S1_4_the_page_lists_what_is_supported holds the tables of docs/crs.md to the code.
func TestDocs_S1_4_the_page_lists_what_is_supported(t *testing.T) {
	raw, err := os.ReadFile("../../docs/crs.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	systems, _, _ := strings.Cut(string(raw), "\n## A code that is not in the table")
	for line := range strings.Lines(systems) {
		codes, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile(`EPSG:(\d+)(?:-(\d+))?`).FindAllStringSubmatch(codes, -1) {
			first, _ := strconv.Atoi(m[1])
			last, _ := strconv.Atoi(m[2])
			for code := first; code <= max(first, last); code++ {
				listed["EPSG:"+strconv.Itoa(code)] = true
			}
		}
	}
	var want []string
	for _, code := range Codes()[1:] {
		if !listed[code] {
			t.Errorf("docs/crs.md does not list %s", code)
		}
		c, _ := Lookup(code)
		want = append(want, " | "+c.Method()+" | ")
	}
	for r := range rows(shiftTable) {
		if s := r.shift(); s.kind != shiftGrid {
			want = append(want, "| "+s.title()+" |")
		}
	}
	for _, f := range KnownGrids() {
		want = append(want, "| `"+f.Name+"` | "+f.Operation+" |")
	}
	for _, f := range KnownGeoids() {
		want = append(want, "| "+f.Heights+" | "+f.Title+" | `"+f.Name+"` | "+f.Operation+" |")
	}
	for _, text := range want {
		if !strings.Contains(string(raw), text) {
			t.Errorf("docs/crs.md does not have %q", text)
		}
	}
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
