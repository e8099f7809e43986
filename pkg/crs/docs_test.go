package crs_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/crs"
)

// docsRow is a row of the table of systems: codes, name, accuracy in metres, and
// worst difference in micrometres.
var docsRow = regexp.MustCompile(`(?m)^\| ((?:OGC:CRS84, )?EPSG:[\d-]+) \| ([^|]+) \| [^|]+ \| ([\d.]+) m \| ([\d.]+) µm \|`)

// TestDocs holds the table of docs/crs.md to what is measured: every code has its
// row, and the row's accuracy and worst difference are those of the code.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/crs.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	stated := map[string][2]float64{}
	for _, row := range docsRow.FindAllStringSubmatch(string(page), -1) {
		metres, _ := strconv.ParseFloat(row[3], 64)
		micrometres, _ := strconv.ParseFloat(row[4], 64)
		for _, code := range expand(row[1]) {
			listed = append(listed, code)
			stated[code] = [2]float64{metres, micrometres}
			if name := mustLookup(t, code).Name(); !strings.HasPrefix(name, strings.Split(row[2], " zones ")[0]) {
				t.Errorf("%s is called %q here and %q there", code, row[2], name)
			}
		}
	}
	slices.Sort(listed)
	if want := slices.Sorted(slices.Values(crs.Codes())); !slices.Equal(listed, want) {
		t.Errorf("the page has the codes\n%q, want\n%q", listed, want)
	}
	for code, s := range stated {
		if got := mustTransform(t, code, "EPSG:4326").Accuracy().Metres; got != s[0] {
			t.Errorf("%s: the page states %g m, Accuracy gives %g m", code, s[0], got)
		}
	}
	for _, set := range readVectors(t) {
		w, wide := measure(t, set.Code, set.Points), measure(t, set.Code, set.Wide)
		if got := 1e6 * max(w.forward, w.inverse, wide.forward, wide.inverse); got > stated[set.Code][1] {
			t.Errorf("%s: the page states %g µm, measured are %.3g µm", set.Code, stated[set.Code][1], got)
		}
	}
}

// expand writes every code of "EPSG:32601-32660" and of a list with commas.
func expand(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ", ") {
		first, last, isRange := strings.Cut(part, "-")
		out = append(out, first)
		if !isRange {
			continue
		}
		from, _ := strconv.Atoi(strings.TrimPrefix(first, "EPSG:"))
		to, _ := strconv.Atoi(last)
		for code := from + 1; code <= to; code++ {
			out = append(out, "EPSG:"+strconv.Itoa(code))
		}
	}
	return out
}

// The message that the page shows is the one that is given.
func TestDocs_message(t *testing.T) {
	page, err := os.ReadFile("../../docs/crs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = mustTransform(t, "OGC:CRS84", "EPSG:3857").Forward(2600072.4, 1199545.1)
	shown := strings.Join(strings.Fields(strings.ReplaceAll(string(page), "\n> ", " ")), " ")
	if err == nil || !strings.Contains(shown, err.Error()) {
		t.Errorf("the page does not show %v", err)
	}
}
