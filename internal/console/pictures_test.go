package console

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// tick is a distance in degrees, and binary rounds to it: the middle of two such numbers is exact, so that an old
// message equals today's.
const tick = 1.0 / 1024

func binary(v float64) float64 { return math.Round(v/tick) * tick }

// parcels are dead letters of a land registry: a service that was down, rings that cross themselves, and numbers as people write them.
func parcels(d *desk) {
	d.t.Helper()
	towns := [][2]float64{{8.54, 47.37}, {7.45, 46.95}, {6.14, 46.2}, {9.18, 45.46}, {11.58, 48.14}, {16.37, 48.21}, {13.4, 52.52}, {2.35, 48.86}, {4.9, 52.37}, {-0.13, 51.5}}
	for i := range 64 {
		at := towns[i*7%len(towns)]
		x, y := binary(at[0]+float64(i%5)/50), binary(at[1]+float64(i%7)/60)
		id := fmt.Sprintf("CH-%d", 294_001+i*17)
		code, message, shape := "http_timeout", "GET https://registry.example/owners: no answer within 2s", fmt.Sprintf(`{"type":"Point","coordinates":[%.3f,%.3f]}`, x, y)
		switch {
		case i%9 == 4:
			shape = fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%[1]v,%[2]v],[%[3]v,%[4]v],[%[3]v,%[2]v],[%[1]v,%[4]v],[%[1]v,%[2]v]]]}`, x, y, x+4*tick, y+2*tick)
			code, message = "geometry_invalid", fmt.Sprintf("a ring meets itself near %v %v at /geometry/coordinates/0, feature %q; correct the geometry, or set geometry.validity: flag", x+2*tick, y+tick, id)
		case i%16 == 7:
			code, message = "invalid_number", fmt.Sprintf("AREA is no number: \"%d'%d m2\"; list what else stands there under null_values, or read it with expr", 1+i%3, 200+i)
		}
		r := letter(fmt.Sprintf("%d-%d-%08x", i%2, 1200+i, 0x3ceb1d07+i*7919), i*40, func(c *header.Control) {
			c.ErrorCode, c.ErrorMessage, c.FeatureID, c.BBox = code, message, id, fmt.Sprintf("%v,%v,%v,%v", x, y, x+4*tick, y+2*tick)
		})
		r.Key, r.Value = []byte(id), fmt.Appendf(nil, `{"type":"Feature","id":%q,"geometry":%s,"properties":{"AREA":"%d","use":"residential"}}`, id, shape, 400+i)
		d.put(r)
	}
}

// tour visits pages in a browser.
type tour struct {
	*chromium.Page
	t    *testing.T
	axe  string // script
	site string // address
	kept string // folder of the pictures; empty keeps none
}

// look checks the requirements of every page, in either theme: it is no wider than the narrowest supported window,
// nor than a wide one, and axe-core finds no violation for people who do not see, or see little contrast, or use no
// mouse.
func (v *tour) look(name string) {
	v.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		v.Dark(theme == "dark")
		v.Await(`document.fonts.check("14px Inter")`)
		for _, width := range []int{1024, 1600, 1280} {
			v.Resize(width, 800)
			var over []string
			err := v.Eval(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest("pre,svg,dialog:not([open])")).map(e => e.outerHTML.slice(0, 200))`, &over)
			expect.That(v.t, err == nil && len(over) <= 0, "%s is wider than a window of %d: %q (%v)", name, width, over, err)
		}
		var found []struct{ ID, Help string }
		must.Do(v.t, v.Eval(v.axe+"\n"+`axe.run().then(r => r.violations.map(v => ({ID: v.id, Help: v.help + " " + v.nodes.map(n => n.html).join(" ")})))`, &found))
		for _, one := range found {
			v.t.Errorf("%s (%s): %s: %.600s", name, theme, one.ID, one.Help)
		}
		if v.kept != "" {
			must.Do(v.t, os.WriteFile(filepath.Join(v.kept, name+"-"+theme+".webp"), v.Picture(), 0o600))
		}
	}
}

// at loads a page, and looks at it.
func (v *tour) at(path, name string) {
	v.t.Helper()
	v.Go(v.site + path)
	v.look(name)
}

// Every page fits its window and is accessible, with dead letters and without. PICTURES_DIR keeps the screenshots;
// some of them are the pictures of docs/console.md.
func TestBrowser_S4_6_pages_fit_and_are_accessible(t *testing.T) {
	testrun.Nightly(t)
	v := &tour{t: t, axe: chromium.Script(t, "NPM_DIR", "axe-core/axe.min.js"), kept: os.Getenv("PICTURES_DIR")}
	access := strings.Replace(tokenFile, "role: replay", "role: edit", 1)
	o := withAccess(t, access, 0)
	v.site = listening(o.desk, func(address string) {
		o.console.gate = gateOf(t, strings.Replace(access, "http://127.0.0.1:8480", address, 1))
	})
	v.Page = chromium.Start(t).Open(v.site+"/", 1280, 800)
	v.signIn()
	for path, name := range map[string]string{"/": "empty-home", "/map": "empty-map", "/replays": "empty-replays", "/audit": "empty-audit", "/change?verb=discard": "empty-change"} {
		v.at(path, name)
	}
	parcels(o.desk)
	consuming(o.desk)
	v.Go(v.site)
	v.lookAround()
	v.edit()
	v.replay()
	v.discard()
}

func (v *tour) signIn() {
	v.AwaitText("Your token")
	v.look("sign-in")
	v.Type("input[name=secret]", "not-this-one")
	v.ClickOn("main button")
	v.AwaitText("no user has this token")
	v.look("sign-in-refused")
	v.Type("input[name=secret]", annasToken)
	v.ClickOn("main button")
	v.AwaitText("There is no dead letter")
}

func (v *tour) lookAround() {
	v.AwaitText("64 pending dead letters")
	v.look("home")
	v.Click("geometry_invalid")
	v.AwaitText("Refused values")
	v.look("group")
	v.ClickOn("main tr td.id a[href^='/dead-letters/']")
	v.Await("document.querySelector('svg .fault')")
	v.look("dead-letter")
	v.Click("Map")
	v.AwaitText("64 dead letters on the map")
	v.look("map")
	v.at("/map?bbox=10,10,11,11", "map-nothing")
	v.at("/?text=none", "home-nothing")
	v.at("/dead-letters/nobody", "not-found")
	v.at("/?since=yesterday", "wrong")
	v.at("/audit?operation=none", "audit-nothing")
	v.at("/change?verb=discard&code=none", "change-nothing")
}

func (v *tour) edit() {
	v.Go(v.site + "/?code=invalid_number")
	v.ClickOn("main tr td.id a[href^='/dead-letters/']")
	v.Click("Edit it…")
	v.AwaitText("The whole value")
	v.look("edit")
	v.Type("input[name='to:/properties/use']", " of land")
	v.ClickOn("main form button")
	v.AwaitText("What would be different")
	v.look("edit-shown")
	v.Type("input[name=reason]", "the use as the registry has it")
	v.Click("Save as a new version")
	v.Await(`document.querySelector(".badge.done")`)
	v.look("operation-edit")
}

func (v *tour) replay() {
	v.Click("Dead letters")
	v.Click("http_timeout")
	v.ClickOn(`#listed a[href*="verb=replay"]`)
	v.Await(`[...document.querySelectorAll("button")].some(b => b.innerText.startsWith("Dry run of "))`)
	v.look("change-replay")
	v.ClickOn("main form button")
	v.AwaitText("Would pass")
	v.Type("input[name=reason]", "the registry answers again")
	v.look("dry-run")
	var letters string
	must.Do(v.t, v.Eval(`document.querySelector("input[name=expect]").value`, &letters))
	v.Type("input[name=typed]", letters)
	v.ClickOn("button.do")
	v.Await(`document.querySelector(".badge.done") && !document.querySelector("main[data-live]")`)
	v.look("replay")
	v.at("/replays", "replays")
	v.at("/audit", "audit")
	v.AwaitText("the registry answers again")
}

func (v *tour) discard() {
	v.Click("Dead letters")
	v.Click("geometry_invalid")
	v.ClickOn(`#listed a[href*="verb=discard"]`)
	v.look("change-discard")
	v.Type("input[name=reason]", "surveyed anew")
	v.ClickOn("button.do")
	v.Await(`document.querySelector(".badge.done")`)
	v.look("operation")
	v.Click("What it did")
	v.look("audit-operation")
	v.Go(v.site + "/replays")
	v.ClickOn("main tr:nth-child(2) td.id a")
	v.ClickOn("a[href^='/undo/']")
	v.look("undo")
}
