package console

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topojson"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// place puts a dead letter with a bounding box.
func (d *desk) place(id, box string) {
	d.put(letter(id, 0, func(c *header.Control) { c.BBox = box }))
}

func TestMap_S4_6_clusters_lead_to_dead_letters(t *testing.T) {
	d := newDesk(t)
	d.place("zurich", "8.5,47.3,8.6,47.4")
	d.place("baden", "8.2,47.4,8.3,47.5")
	d.place("fiji", "178,-20,-176,-16")
	for _, box := range []string{"", "not a box", "1e308,0,1.7e308,1"} {
		d.place("nowhere "+box, box)
	}
	d.put(replaying("baden", "fix-1"))
	got := read[MapAnswer](d, "/api/map")
	must.That(t, got.Type == "FeatureCollection" && got.NoPlace == 3 && len(got.Features) == 2 && got.Degrees, "%+v", got)
	fiji, swiss := got.Features[0], got.Features[1]
	expect.That(t, fiji.Geometry.Coordinates == [2]float64{-179, -18} && fiji.Properties.ID == "fiji" && swiss.Properties.ID == "" && swiss.Properties.Letters == 2 && swiss.Properties.Pending == 1,
		"%+v %+v", fiji, swiss)
	near := read[MapAnswer](d, "/api/map?bbox="+swiss.Properties.BBox.String())
	expect.That(t, len(near.Features) == 2 && near.NoPlace == 0, "nearer: %+v", near)
	text := shown(d, "/map", http.StatusOK)
	for _, want := range []string{"3 dead letters on the map", "3 dead letters more have no place", `href="/dead-letters/fiji"`, `aria-label="2 dead letters, 1 pending, around `} {
		expect.That(t, strings.Contains(text, want), "%q is missing in %s", want, text)
	}
	text = shown(d, "/map?code=none", http.StatusOK)
	expect.That(t, strings.Contains(text, "No dead letter lies here") && !strings.Contains(text, "<svg"), "%v", text)
}

// A source in metres is shown on the globe by its coordinate system; coordinates in an unknown system have no globe.
func TestMap_S4_6_of_other_systems(t *testing.T) {
	d := newDesk(t)
	d.place("zurich", "2683000,1247000,2683200,1247200")
	d.place("nowhere", "9e8,9e8,9e8,9e8")
	got := read[MapAnswer](d, "/api/map")
	expect.That(t, got.Features[0].Geometry.Coordinates[0] == 2683100, "%+v", got)
	d.stop()
	d.source = "EPSG:2056"
	d.open()
	got = read[MapAnswer](d, "/api/map")
	must.That(t, len(got.Features) == 1 && got.Degrees && got.NoPlace == 1, "%+v", got)
	at := got.Features[0].Geometry.Coordinates
	expect.That(t, fmt.Sprintf("%.2f %.2f", at[0], at[1]) == "8.54 47.37", "%v", at)
	says(t, d.get("/map"), http.StatusOK, "around 47.3695°N 8.5388°E")
}

// An operator zooms from the whole map to one dead letter, by the mouse and by the keyboard.
func TestBrowser_S4_6_goes_nearer_on_the_map(t *testing.T) {
	d := newDesk(t)
	for i := range 12 {
		d.place(fmt.Sprintf("swiss-%02d", i), fmt.Sprintf("8.%02d,47.3,8.%02d,47.31", i*4, i*4+1))
	}
	d.place("oslo", "10.7,59.9,10.8,60")
	d.place("sydney", "151,-34,151.2,-33.8")
	p := chromium.Start(t).Open(listening(d)+"/", 1280, 900)
	p.Click("Map")
	p.AwaitText("14 dead letters on the map")
	p.Await(`(() => { // marks lie in the picture, on land where their places are
		const svg = document.querySelector("svg"), land = svg.querySelector(".land")
		return land && [...svg.querySelectorAll("a")].every((mark) => {
			const circle = mark.querySelector("circle"), at = new DOMPoint(circle.cx.baseVal.value, circle.cy.baseVal.value)
			return at.x > 0 && at.x < 1200 && at.y > 0 && at.y < 560 && (mark.dataset.at.startsWith("151") || land.isPointInFill(at))
		}) && !land.isPointInFill(new DOMPoint(2, 2)) && svg.querySelectorAll(".label").length > 3
	})()`)
	p.ClickOn(`svg a[aria-label^="12 dead letters"]`)
	p.AwaitText("12 dead letters on the map")
	p.Await(`document.querySelectorAll("svg a").length >= 5`)
	p.Click("As a list")
	p.AwaitText("Dead letters: 12")
	p.Click("On the map")
	p.Click("The whole map")
	p.AwaitText("14 dead letters on the map")
	p.Enter(`svg a[aria-label^="1 dead letter,"]`)
	p.Await(`location.pathname.startsWith("/dead-letters/")`)
	log := p.Log()
	expect.That(t, len(log) <= 0, "the console of the browser is not empty: %s", strings.Join(log, "\n"))
}

// The page of a dead letter draws every shape that can be drawn, with a cross where it is refused, and shows no
// picture of any other.
func TestBrowser_S4_6_draws_shapes(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	at := read[LetterAnswer](d, "/api/dead-letters/a").Letter.Refused
	must.That(t, at != nil && at.Place != nil && *at.Place == [2]float64{1, 1} && at.Path == "/geometry/coordinates/0", "%+v", at)
	p := chromium.Start(t).Open(listening(d)+"/dead-letters/a", 1280, 900)
	// The mark covers the crossing, and the rings are on both sides of it.
	p.Await(`(() => {
		const mark = document.querySelector("svg .fault").getBoundingClientRect(), area = document.querySelector("svg .area").getBoundingClientRect()
		return Math.abs(mark.x + mark.width / 2 - area.x - area.width / 2) < 2 && area.width > 100
	})()`)
	for _, c := range []struct{ geometry, also, want string }{
		{`{"type":"Point","coordinates":[8,47]}`, "/geometry/coordinates", "circle 320,180 cross translate(320 180)"},
		{`{"type":"LineString","coordinates":[[100,0],[1100,0]]}`, "/geometry/coordinates/1/0", "line M29.1 180L610.9 180 cross translate(610.9 180)"},
		{`{"type":"MultiPolygon","coordinates":[[[[100,0],[1100,0],[1100,100],[100,0]]],[]]}`, "/geometry/coordinates/9", "area M29.1 209.1L610.9 209.1L610.9 150.9L29.1 209.1Z"},
		{`{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[100,0],[1100,0]]},{"type":"LineString","coordinates":[]}]}`, "", "circle 29,180 circle 611,180"},
		{`{"type":"Point","coordinates":[0,0]}`, `{"type":"LineString","coordinates":[[0,0],[1100,0]]}`, "circle 29,180 line repaired M29.1 180L610.9 180"},
		{`{"type":"LineString","coordinates":[[0,0],[10,0],[10,"x"]]}`, "", ""},
		{`{"type":"LineString","coordinates":[[-1.7e308,0],[1.7e308,1]]}`, "", ""},
		{`{"type":"Point","coordinates":[]}`, "", ""},
		{`{"type":"Polygon","coordinates":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`, "", ""},
	} {
		var got string
		if err := p.Eval(fmt.Sprintf(`(() => {
			const svg = document.querySelector("svg.map")
			svg.replaceChildren()
			for (const name of ["place", "repaired"]) delete svg.dataset[name]
			svg.dataset.path = ""
			svg.dataset.geometry = %q
			svg.dataset[%[2]q.startsWith("{") ? "repaired" : "path"] = %[2]q
			try { drawShape(svg) } catch { return "" }
			return [...svg.children].map((e) => e.matches(".fault") ? "cross " + e.getAttribute("transform") : e.matches("circle") ? "circle " + Math.round(e.cx.baseVal.value) + "," + Math.round(e.cy.baseVal.value)
				: e.getAttribute("d") && e.getAttribute("class") + " " + e.getAttribute("d")).filter(Boolean).join(" ")
		})()`, c.geometry, c.also), &got); err != nil || got != c.want {
			t.Errorf("%.80s: %q, want %q (%v)", c.geometry, got, c.want, err)
		}
	}
}

// Where today's transform repairs a geometry, the page shows both versions.
func TestShape_S4_6_before_and_after_a_repair(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	says(t, d.get("/dead-letters/a"), http.StatusOK, `data-repaired=""`)
	d.stop()
	d.repairs = "repair"
	d.open()
	of := read[LetterAnswer](d, "/api/dead-letters/a").Letter
	expect.That(t, of.Today.Passes && strings.Contains(string(of.Repaired), `"geometry":{"type":"MultiPolygon"`) && strings.Contains(string(of.Feature), `"geometry":{"type":"Polygon"`),
		"%+v: %s, %s", of.Today, of.Feature, of.Repaired)
	says(t, d.get("/dead-letters/a"), http.StatusOK, "as today's transform repairs it", `data-repaired="{&#34;type&#34;:&#34;MultiPolygon`)
}

// rings returns the arcs of each ring.
func rings(shapes []topojson.Shape) (out [][]int) {
	for _, s := range shapes {
		for _, polygon := range s.Polygons {
			out = append(out, polygon...)
		}
	}
	return out
}

func hundredths(v float64) int { return int(math.Round(v * 100)) }

func steps(kind string, line []orb.Point) string {
	out, last := kind, [2]int{}
	var rounded [][2]int
	for _, p := range line {
		rounded = append(rounded, [2]int{hundredths(p[0]), hundredths(p[1])})
	}
	for _, p := range slices.Compact(rounded) {
		out += fmt.Sprintf(" %d,%d", p[0]-last[0], p[1]-last[1])
		last = p
	}
	return out + "\n"
}

// The embedded font and outlines are those of the npm packages. WORLD_UPDATE=1 writes the outlines.
func TestWorld_S4_6_is_what_the_package_has(t *testing.T) {
	testrun.Nightly(t)
	font, err := pageFiles.ReadFile("page/inter.woff2")
	expect.That(t, err == nil && string(font) == chromium.Script(t, "NPM_DIR", "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"), "page/inter.woff2 is not that of this package")
	land := topojson.Parse(t, []byte(chromium.Script(t, "NPM_DIR", "world-atlas/land-110m.json")))
	countries := topojson.Parse(t, []byte(chromium.Script(t, "NPM_DIR", "world-atlas/countries-110m.json")))
	var text strings.Builder
	for _, ring := range rings(land.Shapes(t, "land")) {
		var line []orb.Point
		for _, arc := range ring {
			line = append(line, land.Line(arc)...)
		}
		text.WriteString(steps("land", line))
	}
	used := map[int]int{}
	for _, ring := range rings(countries.Shapes(t, "countries")) {
		for _, arc := range ring {
			used[max(arc, ^arc)]++
		}
	}
	for arc, line := range countries.Arcs {
		if used[arc] > 1 {
			text.WriteString(steps("border", line))
		}
	}
	if os.Getenv("WORLD_UPDATE") != "" {
		must.Do(t, os.WriteFile("page/world.txt", []byte(text.String()), 0o600))
	}
	kept, err := pageFiles.ReadFile("page/world.txt")
	expect.That(t, err == nil && text.String() == string(kept) || os.Getenv("WORLD_UPDATE") != "", "page/world.txt is not made of this package")
}
