package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
)

func TestSketch_S4_6_marks_where_a_geometry_is_refused(t *testing.T) {
	for _, c := range []struct{ feature, path, want string }{
		{`{"geometry":{"type":"Point","coordinates":[8,47]}}`, "/geometry/coordinates", "1 points, mark 320 180"},
		{`{"geometry":{"type":"LineString","coordinates":[[0,0],[10,0],[10,"x"]]}}`, "", "no sketch"},
		{`{"geometry":{"type":"LineString","coordinates":[[100,0],[1100,0]]}}`, "/geometry/coordinates/1/0", "line M16.0 180.0L624.0 180.0, mark 624 180"},
		{`{"geometry":{"type":"MultiPolygon","coordinates":[[[[100,0],[1100,0],[1100,100],[100,0]]],[]]}}`, "/geometry/coordinates/9", "area M16.0 210.4L624.0 210.4L624.0 149.6L16.0 210.4Z"},
		{`{"geometry":{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[100,0],[1100,0]]},{"type":"LineString","coordinates":[]}]}}`, "", "2 points"},
		{`{"geometry":{"type":"LineString","coordinates":[[-1.7e308,0],[1.7e308,1]]}}`, "", "no sketch"},
		{`{"geometry":{"type":"Point","coordinates":[]}}`, "", "no sketch"},
		{`{"geometry":null}`, "", "no sketch"},
		{`{"type":"FeatureCollection","features":[]}`, "", "no sketch"},
		{`{"geometry":{"type":"LineString","coordinates":[` + strings.Repeat("[1,2],", maxDrawn) + `[1,2]]}}`, "", "no sketch"},
		{`{"geometry":{"type":"Polygon","coordinates":` + strings.Repeat("[", 9999), "", "no sketch"},
	} {
		got := "no sketch"
		if s := newSketch([]byte(c.feature), nil, c.path); s != nil {
			var parts []string
			if s.Areas != "" {
				parts = append(parts, "area "+s.Areas)
			}
			if s.Lines != "" {
				parts = append(parts, "line "+s.Lines)
			}
			if len(s.Points) > 0 {
				parts = append(parts, fmt.Sprintf("%d points", len(s.Points)))
			}
			if s.Mark != nil {
				parts = append(parts, fmt.Sprintf("mark %.0f %.0f", s.Mark[0], s.Mark[1]))
			}
			got = strings.Join(parts, ", ")
		}
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("%.80s: %.200s, want %s", c.feature, got, c.want)
		}
	}
}

// The page of a dead letter shows its shape, and where it crosses itself.
func TestBrowser_S4_6_shows_where_a_ring_crosses_itself(t *testing.T) {
	browser := chromium.Start(t)
	d := newDesk(t, letter("a", 0))
	if got := read[LetterAnswer](d, "/api/letters/a").Letter.Refused; got == nil || got.Place == nil || *got.Place != [2]float64{1, 1} || got.Path != "/geometry/coordinates/0" {
		t.Errorf("%+v", got)
	}
	if text := shown(d, "/letters/a", http.StatusOK); !strings.Contains(text, `aria-label="Shape of the feature`) {
		t.Error(text)
	}
	p := browser.Open(listening(d)+"/letters/a", 1280, 900)
	// The mark covers the crossing, and the rings are on both sides of it.
	p.Await(`(() => {
		const mark = document.querySelector("svg .fault").getBoundingClientRect(), area = document.querySelector("svg .area").getBoundingClientRect()
		return Math.abs(mark.x + mark.width / 2 - area.x - area.width / 2) < 2 && area.width > 100
	})()`)
}
