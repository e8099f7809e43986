package console

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// passing puts dead letters that today's transform takes.
func (o *operator) passing(letters int) {
	o.t.Helper()
	for i := range letters {
		r := letter(fmt.Sprintf("p-%d", i), i, func(c *header.Control) { c.ErrorCode, c.ErrorMessage = "timeout", "no answer" })
		r.Key, r.Value = []byte{byte('a' + i)}, fmt.Appendf(nil, `{"type":"Feature","id":"P-%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, i)
		o.put(r)
	}
}

// wantBackOnce fails unless the source topic has each dead letter once.
func (o *operator) wantBackOnce(letters int) {
	o.t.Helper()
	back := map[string]int{}
	spans := must.Get(kafka.Spans(o.t.Context(), o.writer, "features"))(o.t)
	must.Do(o.t, kafka.Scan(o.t.Context(), o.writer, "features", spans, func(r *kgo.Record) error {
		back[string(r.Key)]++
		return nil
	}))
	for key, times := range back {
		expect.That(o.t, times == 1, "%q is back %d times", key, times)
	}
	expect.That(o.t, len(back) == letters, "%d dead letters are back, not %d: %v", len(back), letters, back)
}

// planned makes a dry run of all dead letters that died of a timeout, and returns the form that carries it out, and where it goes.
func (o *operator) planned(letters int, canary string) (to string, consent url.Values) {
	o.t.Helper()
	to, _ = o.follows("/dry-run", form(o.see("/change?verb=replay&code=timeout")))
	page := o.until(to, fmt.Sprintf(">Replay %d dead letters</button>", letters))
	return to, with(form(page), "reason", "it answers", "typed", fmt.Sprint(letters), "canary", canary)
}

// goesOn carries out what an operation left.
func (o *operator) goesOn(job string, letters int) {
	o.t.Helper()
	to, _ := o.follows("/dry-run", form(o.see("/go-on/"+strings.TrimPrefix(job, "/replays/"))))
	page := o.until(to, fmt.Sprintf(">Replay %d dead letters</button>", letters))
	to, _ = o.follows(to, with(form(page), "reason", "it answers", "typed", fmt.Sprint(letters), "canary", "0"))
	o.until(to, ">done<")
}

// Who loses the permission to write in the middle reads which one and what was done until then; once it is back, the rest goes on.
func TestChanges_S4_6_S4_8_a_permission_is_lost_in_the_middle(t *testing.T) {
	o := newOperator(t, 0)
	o.passing(4)
	to, consent := o.planned(4, "1")
	job, _ := o.follows(to, consent)
	o.until(job, "<dt>Put back</dt><dd>1 of 4 dead letters</dd>")
	fault := o.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "features", Err: kerr.TopicAuthorizationFailed, Count: -1})
	consuming(o.desk) // it finishes the canary
	page := o.until(job, ">Go on with 3 dead letters…</a>")
	for _, want := range []string{"Write topic features", "<dt>Put back</dt><dd>1 of 4 dead letters</dd>", "<dt>Not reached</dt><dd>3</dd>"} {
		expect.That(t, strings.Contains(page, want), "no %s in %s", want, page)
	}
	o.wantBackOnce(1)
	fault.Remove()
	o.goesOn(job, 3)
	o.wantBackOnce(4)
}

// Two operators carry out their dry runs of the same dead letters: one waits for the other, and each dead letter is back once.
func TestChanges_S4_6_S4_8_two_operators_at_once(t *testing.T) {
	anna := newOperator(t, 0)
	ben := &operator{desk: anna.desk}
	anna.passing(4)
	to, annas := anna.planned(4, "1")
	toBens, bens := ben.planned(4, "0")
	job, _ := anna.follows(to, annas)
	anna.until(job, "<dt>Put back</dt><dd>1 of 4 dead letters</dd>") // nobody finishes the canary
	second, page := ben.follows(toBens, bens)
	expect.That(t, strings.Contains(page, "once nobody else changes dead letters"), "%v", page)
	anna.wantBackOnce(1)
	page = ben.see("/")
	expect.That(t, strings.Contains(page, "At work: ") && strings.Contains(page, "anna"), "%v", page)
	ben.follows(job+"/cancel", url.Values{"token": {form(ben.see(job)).Get("token")}})
	ben.until(job, ">cancelled<")
	ben.until(second, ">done<")
	anna.wantBackOnce(4)
}

// dryRun makes a dry run by clicks, from where a page leads to one, and fills its form.
func dryRun(p *chromium.Page, letters int, canary string) {
	p.Click(fmt.Sprintf("Dry run of %s dead letters", thousands(letters)))
	p.Type("input[name=reason]", "it answers")
	p.Type("input[name=typed]", fmt.Sprint(letters))
	p.Await(`document.querySelector("input[name=canary]").value = "` + canary + `"`)
}

// The server is killed while the page of a replay is open, and started again: the page says so, then that the replay stopped and how much is
// back, and the rest goes on by a click.
func TestServeKilled_S4_6_S4_8_in_the_middle_of_a_replay(t *testing.T) {
	testrun.Nightly(t)
	o := newOperator(t, 0)
	o.passing(6)
	dir := t.TempDir()
	replayer := must.Get(proc.Build(t.Context(), dir, "replayer"))(t)["replayer"]
	file := filepath.Join(dir, "pipeline.yaml")
	must.Do(t, os.WriteFile(file, []byte(o.pipelineFile()), 0o600))
	serve := func(at string) (*proc.Process, string) {
		p := proc.Start(t, proc.Spec{Path: replayer, Dir: dir, Args: []string{"serve", "-c", file, "--listen", at, "--allow-changes", "--actor", "anna", "--index", filepath.Join(dir, "index.sqlite")}})
		return p, p.WaitFor(t.Context(), t, p.Stdout, regexp.MustCompile(`http://(\S+)/`))[1]
	}
	server, at := serve("127.0.0.1:0")
	p := chromium.Start(t).Open("http://"+at+"/?code=timeout", 1280, 900)
	p.Click("Replay 6 dead letters…")
	dryRun(p, 6, "2")
	p.Click("Replay 6 dead letters")
	p.AwaitText("2 of 6 dead letters")
	must.That(t, server.Kill(), "the server had ended before")
	p.AwaitText("the server does not answer")
	serve(at)
	p.AwaitText("Go on with 4 dead letters…")
	o.wantBackOnce(2)
	p.Click("Go on with 4 dead letters…")
	dryRun(p, 4, "0")
	p.Click("Replay 4 dead letters")
	p.Await(`document.querySelector(".badge.done")`)
	o.wantBackOnce(6)
}

// At full size: of 180,000 rows, 5,400 have rings that cross themselves. The operator lets the pipeline repair them, starts it again, and
// replays them all by clicks.
func TestBrowser_S4_6_S4_8_replays_5400_of_180000_rows(t *testing.T) {
	testrun.Nightly(t)
	o := newOperator(t, 0)
	t.Run("the rows are consumed", func(t *testing.T) {
		d := *o.desk
		d.t = t
		var rows []*kgo.Record
		for i := range 180_000 {
			value := strings.Replace(mended, "P-1", fmt.Sprint("P-", i), 1)
			if i%100 < 3 {
				value = strings.Replace(bowTie, "P-1", fmt.Sprint("P-", i), 1)
			}
			rows = append(rows, &kgo.Record{Topic: "features", Partition: int32(i % 2), Key: []byte(fmt.Sprint(i)), Value: []byte(value)})
		}
		d.put(rows...)
		consuming(&d)
		o.until("/", "<dd>0 of features</dd>")
	})
	o.stop()
	o.repairs = "repair"
	o.open()
	consuming(o.desk)
	p := chromium.Start(t).Open(listening(o.desk)+"/", 1280, 900)
	p.AwaitText("5,400 pending dead letters · 1 group in all")
	p.Click("geometry_invalid")
	p.Click("Replay 5,400 dead letters…")
	dryRun(p, 5400, "10")
	p.Click("Replay 5,400 dead letters")
	p.Await(`[...document.querySelectorAll("dt")].some(e => e.innerText == "Reprocessed" && e.nextElementSibling.innerText == "5,400")`)
	p.Await(`document.querySelector(".badge.done") && !document.querySelector("main[data-live]")`)
	p.Click("Dead letters")
	p.AwaitText("No dead letter is pending")
}
