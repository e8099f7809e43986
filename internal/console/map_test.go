package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// place puts a dead letter with a bounding box.
func (d *desk) place(id, box string) {
	d.put(letter(id, 0, func(c *header.Control) { c.BBox = box }))
}

func TestMap_S4_6_clusters_lead_to_dead_letters(t *testing.T) {
	d := newDesk(t)
	d.place("zurich", "8.5,47.3,8.6,47.4")
	d.place("basel", "7.5,47.5,7.6,47.6")
	d.place("fiji", "178,-20,-176,-16")
	for _, box := range []string{"", "not a box", "1e308,0,1.7e308,1"} {
		d.place("nowhere "+box, box)
	}
	d.put(replaying("basel", "fix-1"))
	got := read[MapAnswer](d, "/api/map")
	if got.Type != "FeatureCollection" || got.NoPlace != 3 || len(got.Features) != 2 || !got.Degrees {
		t.Fatalf("%+v", got)
	}
	fiji, swiss := got.Features[0], got.Features[1]
	if fiji.Geometry.Coordinates != [2]float64{-179, -18} || fiji.Properties.Example != "fiji" || swiss.Properties.Letters != 2 || swiss.Properties.Pending != 1 {
		t.Errorf("%+v %+v", fiji, swiss)
	}
	near := read[MapAnswer](d, "/api/map?bbox="+swiss.Properties.BBox.String())
	if len(near.Features) != 2 || near.NoPlace != 0 {
		t.Errorf("nearer: %+v", near)
	}
	text := shown(d, "/map", http.StatusOK)
	for _, want := range []string{"3 dead letters on the map", "3 dead letters more have no place", `href="/letters/fiji"`, `aria-label="2 dead letters, 1 pending, around `, `<path class="land" d="M`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	if text := shown(d, "/map?code=none", http.StatusOK); !strings.Contains(text, "No dead letter lies here") || strings.Contains(text, "<svg") {
		t.Error(text)
	}
}

// A source in metres lies on the globe as its system says; coordinates of which nobody says what they are have no globe.
func TestMap_S4_6_of_other_systems(t *testing.T) {
	d := newDesk(t)
	d.place("zurich", "2683000,1247000,2683200,1247200")
	d.place("nowhere", "9e8,9e8,9e8,9e8")
	if got := read[MapAnswer](d, "/api/map"); got.Features[0].Geometry.Coordinates[0] != 2683100 {
		t.Errorf("%+v", got)
	}
	d.stop()
	d.source = "EPSG:2056"
	d.open()
	got := read[MapAnswer](d, "/api/map")
	if len(got.Features) != 1 || !got.Degrees || got.NoPlace != 1 {
		t.Fatalf("%+v", got)
	}
	if at := got.Features[0].Geometry.Coordinates; fmt.Sprintf("%.2f %.2f", at[0], at[1]) != "8.54 47.37" {
		t.Errorf("%v", at)
	}
	if text := shown(d, "/map", http.StatusOK); !strings.Contains(text, "47.37") || !strings.Contains(text, "°N") {
		t.Error(text)
	}
}

func TestSheet_S4_6_shows_every_place(t *testing.T) {
	for _, c := range []struct {
		places  [][2]float64
		degrees bool
	}{
		{[][2]float64{{8.5, 47.3}}, true},
		{[][2]float64{{-180, -90}, {180, 90}}, true},
		{[][2]float64{{179, -17}, {181, -18}}, true},
		{[][2]float64{{0, 89.9}, {0.1, 89.95}}, true},
		{[][2]float64{{2683100, 1247100}}, false},
		{[][2]float64{{-1e9, -1e9}, {1e9, 1e9}}, false},
	} {
		s := newSheet(c.places, c.degrees)
		for _, p := range c.places {
			if x, y := s.at(p[0], p[1]); x < 0 || x > sheetWidth || y < 0 || y > sheetHeight {
				t.Errorf("%v: %v is at %g %g", c.places, p, x, y)
			}
		}
		if n := len(s.grid()); n < 3 || n > 40 {
			t.Errorf("%v: %d lines", c.places, n)
		}
	}
	if got := newSheet([][2]float64{{179, -17}, {181, -18}}, true).name([2]float64{-179, -17.5}); got != "17.500°S 179.000°W" {
		t.Error(got)
	}
}

// An operator goes from the whole map nearer and nearer, to one dead letter, by the mouse and by the keyboard.
func TestBrowser_S4_6_goes_nearer_on_the_map(t *testing.T) {
	browser := chromium.Start(t)
	d := newDesk(t)
	for i := range 12 {
		d.place(fmt.Sprintf("swiss-%02d", i), fmt.Sprintf("8.%02d,47.3,8.%02d,47.31", i*4, i*4+1))
	}
	d.place("oslo", "10.7,59.9,10.8,60")
	d.place("sydney", "151,-34,151.2,-33.8")
	p := browser.Open(listening(d)+"/", 1280, 900)
	p.Click("Map")
	p.AwaitText("14 dead letters on the map")
	p.ClickOn(`svg a[aria-label^="12 dead letters"]`)
	p.AwaitText("12 dead letters on the map")
	p.Await(`document.querySelectorAll("svg a").length >= 5`)
	p.Click("As a list")
	p.AwaitText("Dead letters: 12")
	p.Click("On the map")
	p.Click("The whole map")
	p.AwaitText("14 dead letters on the map")
	p.Enter(`svg a[aria-label^="1 dead letter,"]`)
	p.Await(`location.pathname.startsWith("/letters/")`)
	if log := p.Log(); len(log) > 0 {
		t.Errorf("the console of the browser is not empty: %s", strings.Join(log, "\n"))
	}
}
