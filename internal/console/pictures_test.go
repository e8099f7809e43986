package console

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// parcels are dead letters of a land registry: a service that was down, rings that cross themselves, and numbers as people write them.
func parcels(d *desk) {
	d.t.Helper()
	towns := [][2]float64{{8.54, 47.37}, {7.45, 46.95}, {6.14, 46.2}, {9.18, 45.46}, {11.58, 48.14}, {16.37, 48.21}, {13.4, 52.52}, {2.35, 48.86}, {4.9, 52.37}, {-0.13, 51.5}}
	for i := range 64 {
		at := towns[i*7%len(towns)]
		x, y := at[0]+float64(i%5)/50, at[1]+float64(i%7)/60
		id := fmt.Sprintf("CH-%d", 294_001+i*17)
		code, message, shape := "http_timeout", "GET https://registry.example/owners: no answer within 2s", fmt.Sprintf(`{"type":"Point","coordinates":[%.3f,%.3f]}`, x, y)
		switch {
		case i%9 == 4:
			shape = fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%.4[1]f,%.4[2]f],[%.4[3]f,%.4[4]f],[%.4[3]f,%.4[2]f],[%.4[1]f,%.4[4]f],[%.4[1]f,%.4[2]f]]]}`, x, y, x+.003, y+.002)
			code, message = "geometry_invalid", fmt.Sprintf("a ring meets itself near %.4f %.4f at /geometry/coordinates/0, feature %q; correct the geometry, or set geometry.validity: flag", x+.0015, y+.001, id)
		case i%16 == 7:
			code, message = "invalid_number", fmt.Sprintf("AREA is no number: \"%d'%d m2\"; list what else stands there under null_values, or read it with expr", 1+i%3, 200+i)
		}
		r := letter(fmt.Sprintf("%d-%d-%08x", i%2, 1200+i, 0x3ceb1d07+i*7919), i*40, func(c *header.Control) {
			c.ErrorCode, c.ErrorMessage, c.FeatureID, c.BBox = code, message, id, fmt.Sprintf("%.4f,%.4f,%.4f,%.4f", x, y, x+.003, y+.002)
		})
		r.Key, r.Value = []byte(id), fmt.Appendf(nil, `{"type":"Feature","id":%q,"geometry":%s,"properties":{"AREA":"%d","use":"residential"}}`, id, shape, 400+i)
		d.put(r)
	}
}

// No page is wider than its window, in either theme, on the narrowest screen that is supported and on a usual one. PICTURES_DIR keeps
// what they look like: the pictures of docs/console.md.
func TestBrowser_S4_6_pages_fit_their_window(t *testing.T) {
	testrun.Nightly(t)
	browser := chromium.Start(t)
	d := newDeskOf(t, &Changes{})
	parcels(d)
	consuming(d)
	address := listening(d)
	p := browser.Open(address+"/", 1280, 800)
	look := func(name string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			p.Dark(theme == "dark")
			for _, width := range []int{1024, 1280} {
				p.Resize(width, 800)
				var over bool
				if err := p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth", &over); err != nil || over {
					t.Errorf("%s is wider than a window of %d (%v)", name, width, err)
				}
			}
			if dir := os.Getenv("PICTURES_DIR"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, name+"-"+theme+".webp"), p.Picture(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	p.AwaitText("64 pending dead letters")
	look("home")
	p.Click("geometry_invalid")
	p.AwaitText("Refused values")
	p.ClickOn("main tr td.id a[href^='/letters/']")
	p.Await("document.querySelector('svg .fault')")
	look("dead-letter")
	p.Click("Map")
	p.AwaitText("64 dead letters on the map")
	look("map")
	p.Click("Dead letters")
	p.Click("http_timeout")
	p.Click("Replay…")
	p.Await(`[...document.querySelectorAll("button")].some(b => b.innerText.startsWith("Dry run of "))`)
	p.ClickOn("form button")
	p.AwaitText("Would pass")
	p.Type("input[name=reason]", "the registry answers again")
	look("dry-run")
	var letters string
	if err := p.Eval(`document.querySelector("input[name=expect]").value`, &letters); err != nil {
		t.Fatal(err)
	}
	p.Type("input[name=typed]", letters)
	p.ClickOn("button.do")
	p.Await(`document.querySelector(".badge.done") && !document.querySelector("main[data-live]")`)
	look("replay")
	p.Click("Audit")
	p.AwaitText("the registry answers again")
	look("audit")
}
