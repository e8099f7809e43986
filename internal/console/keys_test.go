package console

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// By keys alone: rows are gone through, selected and opened, places are reached, and a field takes the same keys as text.
func TestBrowser_S4_6_works_by_keys(t *testing.T) {
	browser := chromium.Start(t)
	d := newDeskOf(t, &Changes{}, letter("a", 0), letter("b", 1), letter("c", 2))
	address := listening(d)
	p := browser.Open(address+"/", 1280, 800)
	p.AwaitText("3 pending dead letters")
	p.Press("?")
	p.Await(`document.querySelector("#keys:popover-open")`)
	p.Press("Escape")
	p.Await(`!document.querySelector("#keys:popover-open")`)
	p.Press("j", "j", "j", "k", "ArrowDown", "ArrowUp")
	p.Await(`document.activeElement.innerText == "a"`)
	p.Press(" ", "j", " ")
	p.Await(`document.querySelector("#all").indeterminate && document.querySelector("#picked button").innerText == "Replay 2 dead letters…" && document.querySelector("#listed").hidden`)
	p.Press("j", "j", "j", " ") // there is no row after the last
	p.Await(`document.querySelector("#all").checked`)
	p.Press("Escape")
	p.Await(`!document.querySelector("main input:checked") && document.querySelector("#picked").hidden`)
	p.Press(" ")
	p.Click("Discard 1 dead letter…")
	p.Await(`location.search == "?id=c&verb=discard" || location.search == "?verb=discard&id=c"`)
	p.AwaitText("Discard 1 dead letter")

	p.Press("/")
	p.Await(`document.activeElement.name == "reason"`)
	p.Press("g", "m", "?", "j")
	p.Await(`document.activeElement.value == "gm?j" && location.pathname == "/change" && !document.querySelector("#keys:popover-open")`)
	p.Press("Escape", "g", "m")
	p.Await(`document.readyState == "complete" && location.pathname == "/map"`)
	p.Press("g", "x", "m", "g", "h")
	p.Await(`document.readyState == "complete" && location.pathname == "/"`)
	p.Press("j", "j", "Enter")
	p.Await(`document.readyState == "complete" && location.pathname == "/letters/a"`)
	if log := p.Log(); len(log) > 0 {
		t.Errorf("the console of the browser is not empty: %s", strings.Join(log, "\n"))
	}
}

// The first page follows what happens, and rests while somebody works with it.
func TestBrowser_S4_6_follows_unless_rows_are_selected(t *testing.T) {
	browser := chromium.Start(t)
	d := newDeskOf(t, &Changes{}, letter("a", 0))
	p := browser.Open(listening(d)+"/", 1280, 800)
	var done bool
	sooner := func() { must.Do(t, p.Eval(`document.querySelector("main").dataset.live = 20; look(); true`, &done)) }
	p.AwaitText("1 pending dead letter")
	p.Press("j", "j")
	sooner()
	d.put(letter("b", 1))
	p.AwaitText("2 pending dead letters")
	p.Await(`document.activeElement.innerText == "a"`) // the focus stays
	p.Press(" ")
	d.put(letter("c", 2))
	var asked int
	must.Do(t, p.Eval(`(async () => { window.asked = 0; const real = fetch; window.fetch = (...of) => { window.asked++; return real(...of) }; for (let i = 0; i < 20; i++) await look(); return window.asked })()`, &asked))
	if text := p.Text(); asked != 0 || !strings.Contains(text, "2 pending dead letters") {
		t.Errorf("the page was asked for %d times while a row was selected: %s", asked, text)
	}
	p.Press("Escape")
	sooner()
	p.AwaitText("3 pending dead letters")
}
