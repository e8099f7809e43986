package console

import (
	"database/sql"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// shown returns the text of a page that must have a status.
func shown(d *desk, path string, status int) string {
	d.t.Helper()
	w := d.get(path)
	must.That(d.t, w.Code == status && strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), "%s: %d %v %s", path, w.Code, w.Header(), w.Body)
	return w.Body.String()
}

func TestPage_S4_6_says_first_how_many_wait_and_since_when(t *testing.T) {
	other := func(c *header.Control) { c.ErrorMessage = "no such code" }
	d := newDesk(t, letter("a", 0), letter("b", 1, other), letter("c", 2, other), replaying("c", "fix-1"))
	text := shown(d, "/", http.StatusOK)
	first := regexp.MustCompile(`(?s)<h1>(.*?)</h1>`).FindStringSubmatch(text)
	expect.That(t, first != nil && strings.HasPrefix(first[1], "2 pending dead letters · 2 groups in all · the oldest ") && strings.Contains(first[1], ">60 min ago<") && strings.Contains(first[1], "retention can delete it in 6 d"),
		"%q", first)
	for _, want := range []string{`href="/dead-letters/a"`, `href="/dead-letters/b"`, `href="/dead-letters/c"`, "no such code", "Dead letters: 3"} {
		expect.That(t, strings.Contains(text, want), "%q is missing in %s", want, text)
	}
	d.put(letter("a/b?c#d", 3))
	odd := regexp.MustCompile(`href="(/dead-letters/a[^"]+)"`).FindStringSubmatch(shown(d, "/", http.StatusOK))
	expect.That(t, odd != nil && strings.Contains(shown(d, odd[1], http.StatusOK), "<h1>a/b?c#d</h1>"), "%q", odd)
	link := regexp.MustCompile(`href="(/\?group=[^"]+)"`).FindStringSubmatch(text)
	of := shown(d, link[1], http.StatusOK)
	expect.That(t, !strings.Contains(of, `href="/dead-letters/a"`) && strings.Contains(of, `href="/dead-letters/b"`) && strings.Contains(of, "Dead letters: 2"), "%s shows %s", link[1], of)
	none := shown(d, "/?text=nothing&code=&since=&status=&order=oldest", http.StatusOK)
	expect.That(t, strings.Contains(none, "No dead letter matches") && strings.Contains(none, `data-live="5000"`), "%s", none)
	d.console.now = func() time.Time { d.now = d.now.Add(time.Second); return d.now } // an answer that takes seconds is requested less often
	expect.That(t, regexp.MustCompile(`data-live="[0-9]{5,}"`).MatchString(shown(d, "/", http.StatusOK)), "it is requested as often as one that takes no time")
}

func TestPage_S4_6_pages_through_all(t *testing.T) {
	d := newDesk(t)
	for i := range 120 {
		d.put(letter(string(rune('a'+i/26))+string(rune('a'+i%26)), i))
	}
	path, seen := "/?order=newest", map[string]bool{}
	for pages := 1; ; pages++ {
		text := shown(d, path, http.StatusOK)
		for _, m := range regexp.MustCompile(`href="/dead-letters/([a-z]+)"`).FindAllStringSubmatch(text, -1) {
			expect.That(t, !seen[m[1]], "%s is repeated on %s", m[1], path)
			seen[m[1]] = true
		}
		next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(text)
		if next == nil {
			expect.That(t, pages == 3 && len(seen) == 120, "%d dead letters on %d pages", len(seen), pages)
			return
		}
		path = strings.ReplaceAll(next[1], "&amp;", "&")
	}
}

// Text of records is shown as text, whatever its content.
func TestPage_S4_6_payloads_are_text(t *testing.T) {
	hostile := "<script>alert(1)</script>\x1b[2J\u202e\"'><img src=x>"
	r := letter("<b>id", 0, func(c *header.Control) { c.ErrorMessage, c.FeatureID, c.ErrorCode = hostile, hostile, hostile })
	r.Value = []byte(hostile)
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: hostile, Value: []byte(hostile)})
	d := newDesk(t, r)
	for _, path := range []string{"/", "/dead-letters/%3Cb%3Eid", "/dead-letters/%3Cscript%3E", "/?text=" + "%3Cscript%3E%22%3E"} {
		w := d.get(path)
		text := regexp.MustCompile(`<script src="/(live|keys|draw).js" defer></script>`).ReplaceAllString(w.Body.String(), "") // the page's own
		expect.That(t, !strings.Contains(text, "<script") && !strings.Contains(text, "<img") && !strings.Contains(text, "<b>id") && !strings.ContainsAny(text, "\x1b\u202e"),
			"%s: %s", path, text)
		csp := w.Header().Get("Content-Security-Policy")
		expect.That(t, !strings.Contains(csp, "unsafe"), "%s", csp)
	}
}

func TestPage_S4_6_one_dead_letter_and_failures(t *testing.T) {
	binary := letter("b", 1)
	binary.Value = []byte{0xff, 0xfe}
	d := newDesk(t, letter("a", 0), binary)
	says(t, d.get("/dead-letters/a"), http.StatusOK, "&#34;P-1&#34;", "ring 3 crosses itself", "refused", "00000000  7b 22 74 79")
	says(t, d.get("/dead-letters/b"), http.StatusOK, "Not UTF-8 text", "00000000  ff fe")
	says(t, d.get("/dead-letters/nobody"), http.StatusNotFound, "no such dead letter")
	says(t, d.get("/?since=yesterday"), http.StatusBadRequest, "since:")
	d.broker.Close()
	says(t, d.get("/"), http.StatusOK, "Not up to date", "cannot reach Kafka")
	w := d.get("/style.css")
	expect.That(t, w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/css"), "%d %v", w.Code, w.Header())
}

func TestPage_S4_6_numbers_shares_and_spans(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		expect.Equal(t, thousands(n), want, n)
	}
	for d, want := range map[int64]string{-1: "0 s", 119: "119 s", 120: "2 min", 7199: "119 min", 7200: "2 h", 172800: "2 d"} {
		expect.Equal(t, span(time.Duration(d)*time.Second), want, d, "s")
	}
	for share, want := range map[float64]string{1: "≥ 100 %", 0.999: "≥ 99 %", 0.1: "≥ 10 %", 0.0123: "≥ 1.2 %", 0.00004: "> 0 %", 0: "≥ 0 %"} {
		expect.Equal(t, percent(&share), want, share)
	}
}

// With the keyboard alone: rows are traversed, selected and opened, pages are reached, and a field accepts the same
// keys as text.
func TestBrowser_S4_6_works_by_keys(t *testing.T) {
	d := newDeskOf(t, &Changes{}, letter("a", 0), letter("b", 1), letter("c", 2))
	address := listening(d)
	p := chromium.Start(t).Open(address+"/", 1280, 800)
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
	p.Await(`document.readyState == "complete" && location.pathname == "/dead-letters/a"`)
	log := p.Log()
	expect.That(t, len(log) <= 0, "the console of the browser is not empty: %s", strings.Join(log, "\n"))
}

// The first page follows changes, and pauses while somebody works with it.
func TestBrowser_S4_6_follows_unless_rows_are_selected(t *testing.T) {
	d := newDeskOf(t, &Changes{}, letter("a", 0))
	p := chromium.Start(t).Open(listening(d)+"/", 1280, 800)
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
	text := p.Text()
	expect.That(t, asked == 0 && strings.Contains(text, "2 pending dead letters"), "the page was asked for %d times while a row was selected: %s", asked, text)
	p.Press("Escape")
	sooner()
	p.AwaitText("3 pending dead letters")
}

// A page that is requested again sends no query to the index, until a record has arrived, something was changed here,
// or a minute has passed.
func TestPage_S4_6_keeps_its_lists_while_nothing_changes(t *testing.T) {
	o := newOperator(t, 2)
	path := "/?group=" + read[GroupsAnswer](o.desk, "/api/groups").Groups[0].ID
	has := func(after string, ids ...string) {
		t.Helper()
		found := regexp.MustCompile(`<td class="id"><a href="/dead-letters/(id-.)"`).FindAllStringSubmatch(o.see(path), -1)
		var got []string
		for _, m := range found {
			got = append(got, m[1])
		}
		expect.Equal(t, strings.Join(got, " "), strings.Join(ids, " "), after)
	}
	has("at first", "id-a", "id-b")
	index := must.Get(sql.Open("sqlite", o.index))(t)
	defer index.Close()
	secretly := func(change string) { must.Get(index.ExecContext(t.Context(), change))(t) }
	secretly("UPDATE dead_letter_queue SET gone = 1 WHERE id = 'id-a'")
	has("an index without new records", "id-a", "id-b")
	o.put(letter("id-c", 9))
	has("a new record", "id-b", "id-c")
	secretly("UPDATE dead_letter_queue SET gone = 1 WHERE id = 'id-b'")
	o.now = o.now.Add(keptFor)
	has("a minute", "id-c")
	secretly("UPDATE dead_letter_queue SET gone = 0 WHERE id = 'id-a'")
	has("nothing", "id-c")
	o.follows("/notes/"+strings.TrimPrefix(path, "/?group="), with(form(o.see(path)), "note", "ours"))
	has("a change", "id-a", "id-c")
}

// While figures change, no element moves on a page that is updated in place: by the browser's record of elements that
// stay, and by the positions of everything that is read or clicked, which are new elements each time.
func TestBrowser_S4_6_nothing_moves_while_figures_change(t *testing.T) {
	var first []*kgo.Record
	for i := range 9 {
		first = append(first, letter(fmt.Sprint("a", i), i), replaying(fmt.Sprint("a", i), "fix-1"))
	}
	d := newDesk(t, append(first, letter("b0", 0, func(c *header.Control) { c.ErrorCode = "timeout" }))...)
	group := read[GroupsAnswer](d, "/api/groups?code=geometry_invalid").Groups[0].ID
	address := listening(d)
	p := chromium.Start(t).Open(address+"/", 1280, 800)
	const places = `JSON.stringify([...document.querySelectorAll("header *, h1, h2, form, input, select, dt, th, tr a, main > section")].filter(e => !e.innerText.startsWith("z")).map(e => (r => [e.innerText?.slice(0, 9).replace(/[0-9,]+/g, "N"), Math.round(r.x), Math.round(r.y)])(e.getBoundingClientRect())))`
	for n, path := range []string{"/", "/?group=" + group, "/replays/fix-1"} {
		p.Go(address + path)
		var before, after string
		var shifted float64
		must.Do(t, p.Eval(`document.fonts.ready.then(() => { window.shifts = 0; new PerformanceObserver(l => l.getEntries().forEach(e => shifts += e.value)).observe({type: "layout-shift"}); return `+places+` })`, &before))
		for i := range 3 { // nine become ten, and more than a thousand; some seconds become minutes and hours
			var records []*kgo.Record
			for j := range []int{1, 10, 400}[i] {
				id := fmt.Sprintf("z%d-%d-%d", n, i, j)
				records = append(records, letter(id, 60+j), replaying(id, "fix-1"))
			}
			d.put(append(records, reprocessed(fmt.Sprint("a", 3*n+i), "fix-1"))...)
			d.now = d.now.Add([]time.Duration{70 * time.Second, 30 * time.Minute, 3 * time.Hour}[i])
			must.Do(t, p.Eval(`ask(document.querySelector("main[data-live]")).then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))`, new(any)))
		}
		p.AwaitText(map[bool]string{true: "Reprocessed", false: thousands(9 + 411*(n+1))}[n == 2])
		must.Do(t, p.Eval(places, &after))
		must.Do(t, p.Eval("shifts", &shifted))
		expect.That(t, shifted == 0, "%s: shifted by %v", path, shifted)
		expect.Equal(t, after, before, path)
	}
}

// A person who loses the permission to read while a page follows a replay sees which permission, and the page
// continues once it is back.
func TestBrowser_S4_6_S4_8_a_permission_to_read_is_lost(t *testing.T) {
	d := newDesk(t, letter("a", 0), letter("b", 1), replaying("a", "fix-1"), replaying("b", "fix-1"))
	p := chromium.Start(t).Open(listening(d)+"/replays/fix-1", 1280, 800)
	reads := func(fact, number string) {
		p.Await(`[...document.querySelectorAll("dt")].some(e => e.innerText == "` + fact + `" && e.nextElementSibling.innerText == "` + number + `") && !document.querySelector(".toast").innerText`)
	}
	reads("Under way", "2")
	denied := d.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "features.dlq-status", Err: kerr.TopicAuthorizationFailed, Count: -1})
	d.put(reprocessed("a", "fix-1"))
	p.AwaitText("Read topic features.dlq-status")
	denied.Remove()
	reads("Reprocessed", "1")
}
