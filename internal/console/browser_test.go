package console

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// listening serves a console until the test ends and returns its address. Preparations that need the address run
// first.
func listening(d *desk, first ...func(address string)) string {
	d.t.Helper()
	l := must.Get(Listen(d.t.Context(), "127.0.0.1:0", d.gate))(d.t)
	address := "http://" + l.Addr().String()
	for _, f := range first {
		f(address)
	}
	ctx, cancel := context.WithCancel(d.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.console.Serve(ctx, l) }()
	d.t.Cleanup(func() {
		cancel()
		expect.Do(d.t, <-ended)
	})
	return address
}

// An operator looks at the pending dead letters, the largest group, its values, one of its dead letters, and the
// history of that one.
func TestBrowser_S4_6_looks_from_home_to_a_dead_letter(t *testing.T) {
	other := func(c *header.Control) { c.ErrorCode, c.ErrorMessage = "lookup_miss", "no such code" }
	long := "P-b" + strings.Repeat(" of the cadastre", 20)
	d := newDesk(t, letter("a", 0), letter("b", 1, other, func(c *header.Control) { c.FeatureID = long }), letter("c", 2, other), replaying("c", "fix-1"), event("c", "fix-1", 3))
	p := chromium.Start(t).Open(listening(d)+"/", 1280, 800)
	p.AwaitText("2 pending dead letters · 2 groups in all")
	p.Click("lookup_miss")
	p.AwaitText("Dead letters: 2")
	p.Type("input[name=text]", "P-b")
	p.Click("Show")
	p.AwaitText("Dead letters: 1")
	copied(t, p, "Copy P-b of", long)
	p.ClickOn("main td a[href='/dead-letters/b']")
	p.AwaitText("no such code")
	p.Await(`document.querySelector("h1").innerText == "b" && document.querySelector("pre").innerText.includes('"P-1"')`)
	copied(t, p, "Copy b", "b")
	copied(t, p, "Copy the value", bowTie)
	p.Click("Replays")
	p.AwaitText("1 replay is under way")
	p.Click("Audit")
	p.Click("fix-1")
	p.AwaitText("gone for good")
	log := p.Log()
	expect.That(t, len(log) <= 0, "the console of the browser is not empty: %s", strings.Join(log, "\n"))
}

// copied presses Enter on the button with a name, and expects a text in the clipboard, while nothing on the page moves.
func copied(t *testing.T, p *chromium.Page, name, want string) {
	t.Helper()
	const places = `JSON.stringify([...document.querySelectorAll("body :not(.rest)")].map(e => e.getBoundingClientRect()))`
	p.Await(`document.readyState == "complete" && (e => (e?.focus(), e && document.activeElement == e))(document.querySelector("button[aria-label^='` + name + `']"))`)
	p.Await(`window.before = ` + places)
	p.Press("Enter")
	p.Await(`document.querySelector("header [role=status]").innerText == "copied" && document.activeElement.matches(".good") && window.before == ` + places)
	expect.Equal(t, p.Clipboard(), want, name)
}

// consuming runs the pipeline's consumer until the test ends.
func consuming(d *desk) {
	d.t.Helper()
	cfg := d.configure()
	admin := kadm.NewClient(d.writer)
	report, err := topics.Ensure(d.t.Context(), admin, topics.Plan(cfg))
	must.That(d.t, err == nil, "%s, %v", report, err)
	c, err := consumer.New(cfg, consumer.Options{})
	must.Do(d.t, err)
	ctx, cancel := context.WithCancel(d.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			d.t.Error(err)
		}
	})
	eventually.Until(d.t.Context(), d.t, "the consumer is a member of its group", func() (bool, string) {
		group, err := kafka.DescribeGroup(d.t.Context(), admin, cfg.Source.Group)
		return err == nil && len(group.Members) > 0, fmt.Sprint(group, err)
	})
}

// An operator's whole work by clicks: choose a group, a dry run, a replay with a canary that the running pipeline
// processes, its outcome; then a discard and its undo.
func TestBrowser_S4_6_S4_8_replays_with_a_canary_and_undoes_a_discard(t *testing.T) {
	o := newOperator(t, 0)
	o.passing(30)
	d := o.desk
	d.put(letter("crossed-1", 50), letter("crossed-2", 51))
	consuming(d)
	p := chromium.Start(t).Open(listening(d)+"/", 1280, 900)
	p.AwaitText("An instance runs, and the pipeline is not paused.")
	p.Click("timeout")
	p.AwaitText("Dead letters: 30")
	p.Click("Replay 30 dead letters…")
	p.Click("Dry run of 30 dead letters")
	p.AwaitText("Replay 30 dead letters")
	p.Await(`document.querySelector("input[name=canary]").value == "10"`)
	p.Type("input[name=reason]", "the service answers again")
	p.Type("input[name=typed]", "30")
	p.Click("Replay 30 dead letters")
	p.Await(`location.pathname.startsWith("/replays/")`)
	p.Await(`[...document.querySelectorAll("dt")].some(e => e.innerText == "Reprocessed" && e.nextElementSibling.innerText == "30")`)
	p.Await(`document.querySelector(".badge.done") && !document.querySelector("main[data-live]")`)

	p.Click("Dead letters")
	p.Click("geometry_invalid")
	p.AwaitText("Dead letters: 2")
	p.Click("Discard 2 dead letters…")
	p.Type("input[name=reason]", "surveyed anew")
	p.Click("Discard 2 dead letters")
	p.Await(`document.querySelector(".badge.done")`)
	p.Click("Undo 2 dead letters…")
	p.Type("input[name=reason]", "needed after all")
	p.Click("Take back 2 dead letters")
	p.Await(`document.querySelector(".badge.done") && document.querySelector("h1").innerText.startsWith("undo-")`)
	p.Click("Dead letters")
	p.AwaitText("2 pending dead letters")
	p.Click("Audit")
	for _, want := range []string{"the service answers again", "surveyed anew", "needed after all", "anna"} {
		p.AwaitText(want)
	}
	log := p.Log()
	expect.That(t, len(log) <= 0, "the console of the browser is not empty: %s", strings.Join(log, "\n"))
}

// hostile texts would run a script, steer a terminal, or turn the direction of writing in a page that shows them otherwise than as text.
func hostileTexts() []string {
	return []string{
		`<script>window.ran = 1</script>`, `"><img src=x onerror="window.ran = 1">`, `'onmouseover='window.ran=1`, `javascript:window.ran=1`, `</pre></td></table><svg onload=window.ran=1>`,
		`{{constructor.constructor('window.ran=1')()}}`, "\x1b[2J\x1b]0;title\a", "\u202eltr\u2066", "a\u0000b\r\nc", `</title><script>window.ran=1</script>`, strings.Repeat("W", 1<<20),
	}
}

func TestBrowser_S4_6_hostile_payloads_are_text(t *testing.T) {
	d := newDesk(t)
	texts := hostileTexts()
	for i, text := range texts {
		short := text[:min(len(text), 50<<10)] // a broker refuses a record with several headers of a megabyte each
		r := letter(fmt.Sprintf("id-%d", i), i, func(c *header.Control) {
			c.ErrorMessage, c.FeatureID, c.ErrorCode, c.Pipeline = short, short, short, short
		})
		r.Key, r.Value = []byte(short), []byte(text[:min(len(text), 700<<10)])
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: short, Value: []byte(short)})
		d.put(r, event(fmt.Sprintf("id-%d", i), short, i))
		if len(text) < 1<<10 {
			d.put(replaying(fmt.Sprintf("id-%d", i), text))
		}
	}
	address := listening(d)
	p := chromium.Start(t).Open(address+"/", 1024, 800)
	paths := []string{"/", "/?order=newest", "/replays", "/audit"}
	for i := range texts {
		paths = append(paths, fmt.Sprintf("/dead-letters/id-%d", i))
	}
	for _, path := range paths {
		p.Go(address + path)
		for expression, wrong := range map[string]string{
			"Boolean(window.ran)": "a script ran",
			"document.querySelectorAll('script:not([src]), img, svg, [onerror], [onload], [onmouseover], a[href^=javascript]').length > 0": "there are elements of a payload",
			"document.documentElement.scrollWidth > document.documentElement.clientWidth":                                                  "the page is wider than the window",
			`/[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.textContent)`:                                 "bytes can steer a terminal or turn the text",
			"!document.title.endsWith('Switchback')":                                                                                       "the title is another",
		} {
			yes := false
			err := p.Eval(expression, &yes)
			expect.That(t, err == nil && !yes, "%s: %s (%v)", path, wrong, err)
		}
	}
	log := p.Log()
	expect.That(t, len(log) <= 0, "the console of the browser is not empty: %.3000s", strings.Join(log, "\n"))
}

// A million dead letters: the first page and the map are shown with the exact number, also while the index has only
// the oldest of them. They are made from counts, and none of their requests reads every dead letter.
func TestBrowser_S4_6_paints_a_million_dead_letters(t *testing.T) {
	testrun.Nightly(t)
	d := newDesk(t)
	for part := range 20 {
		var records []*kgo.Record
		for i := range 50_000 {
			x, y := i%300-150, i%120-60
			records = append(records, letter(fmt.Sprintf("%d-%d", part, i), i%3600, func(c *header.Control) { c.BBox = fmt.Sprintf("%d,%d,%d,%d", x, y, x+1, y+1) }))
		}
		d.put(records...)
	}
	eventually.Until(t.Context(), t, "the index is filled", func() (bool, string) {
		w := d.get("/api/stats")
		return w.Code == http.StatusOK, w.Body.String()
	})
	index := must.Get(sql.Open("sqlite", d.index))(t)
	must.Get(index.ExecContext(t.Context(), `CREATE TEMP TABLE oldest AS SELECT * FROM dead_letter_queue ORDER BY rejected_at, dlq_partition, dlq_offset LIMIT 99;
		DELETE FROM dead_letter_queue; INSERT INTO dead_letter_queue SELECT * FROM oldest`))(t)
	must.Do(t, index.Close())
	p := chromium.Start(t).Open(listening(d)+"/", 1280, 800)
	p.AwaitText("1,000,000 pending dead letters · 1 group in all")
	p.AwaitText("Dead letters: 1,000,000")
	p.Await(`performance.getEntriesByName("first-contentful-paint").length == 1 && document.querySelectorAll("main td.id a[href^='/dead-letters/']").length == 50`)
	p.Click("Map")
	p.AwaitText("1,000,000 dead letters on the map")
	p.Await(`performance.getEntriesByName("first-contentful-paint").length == 1 && document.querySelector("svg circle")`)
}
