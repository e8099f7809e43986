package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const mended = `{"type":"Feature","id":"P-1","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},"properties":{}}`

// A property keeps its type, and what is not touched is no change, whatever it is.
func TestTyped_S4_8_what_was_written_over_a_property(t *testing.T) {
	for _, c := range [][3]string{ // what it was, what was written, the value of the step; "" is no step
		{`"a"`, "b", `"b"`}, {`"12"`, "13", `"13"`}, {`12`, "13", `13`}, {`12`, "1'300", `"1'300"`}, {`12`, "13 ha", `"13 ha"`}, {`12`, " 13 ", `13`},
		{`null`, "x", `"x"`}, {`null`, "5", `5`}, {`true`, "false", `false`}, {`1`, "[1]", `"[1]"`}, {`1`, `{"a":1}`, `"{\"a\":1}"`}, {`1`, "", `""`}, {`"a"`, "", `""`},
		{`1.50`, "1.50", ""}, {`"a"`, "a", ""}, {`"a\"b<\u00e9"`, `a"b<é`, ""}, {`1e400`, "1e400", ""}, {`no JSON`, "x", ""}, {``, "x", ""},
	} {
		form := url.Values{"to:/properties/p": {c[1]}, "was:/properties/p": {c[0]}, "token": {"x"}}
		got, err := typed(form)
		want := `[{"op":"replace","path":"/properties/p","value":` + c[2] + `}]`
		if c[2] == "" && err == nil || c[2] != "" && string(got) != want {
			t.Errorf("%s, written %q: %s (%v)", c[0], c[1], got, err)
		}
	}
	if got, err := typed(url.Values{"value": {"{\r\n\"a\":1}"}}); err != nil || string(got) != `[{"op":"replace","path":"","value":{"a":1}}]` {
		t.Errorf("%s (%v)", got, err)
	}
	if _, err := typed(url.Values{"value": {`{"a":1} x`}}); err == nil {
		t.Error("two values pass as one")
	}
}

// Only what a form gives back as it was is offered by itself.
func TestEditView_S4_8_offers_what_a_form_keeps(t *testing.T) {
	of := func(value string) (*editView, error) {
		return newEditView(&dlq.DetailJSON{LetterJSON: dlq.LetterJSON{Value: &value}})
	}
	v := must.Get(of(`{"properties":{"a/b~":1,"two\nlines":1,"text":"two\nlines","list":[1],"null":null,"s":"x"}}`))(t)
	var paths []string
	for _, f := range v.Fields {
		paths = append(paths, f.Path+"="+f.Text)
	}
	if got := strings.Join(paths, " "); got != "/properties/a~1b~0=1 /properties/null=null /properties/s=x" {
		t.Error(got)
	}
	for _, value := range []string{"no JSON", "", strings.Repeat(" ", maxEdited) + "1"} {
		if _, err := of(value); err == nil || !strings.Contains(err.Error(), "replayer edit") {
			t.Errorf("%.20q: %v", value, err)
		}
	}
	if v := must.Get(of(`[1]`))(t); len(v.Fields) != 0 || v.Text != "[1]" {
		t.Errorf("%+v", v)
	}
}

// An edit says what it changes and whether it would pass, makes a new version in the operator's name, and is taken back.
func TestEdit_S4_6_S4_8_makes_a_new_version(t *testing.T) {
	o := newOperator(t, 2)
	page := o.see("/edit/id-a")
	w := o.send("/edit/id-a", with(form(page), "value", mended))
	shown := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(shown, "/geometry/coordinates") || !strings.Contains(shown, ">passes</span>") {
		t.Fatalf("%d %s", w.Code, shown)
	}
	if got := o.see("/letters/id-a"); strings.Contains(got, "[2,0],[2,2]") {
		t.Error("the preview has changed it")
	}
	if w := o.send("/edit/id-a/save", form(shown)); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "needs a reason") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	to, _ := o.follows("/edit/id-a/save", with(form(shown), "reason", "corners swapped"))
	o.until(to, ">done<")
	if got := o.see("/letters/id-a"); !strings.Contains(got, "[2,0],[2,2]") || !strings.Contains(got, ">passes</span>") {
		t.Error(got)
	}
	// Somebody else looked at the bytes before.
	if w := o.send("/edit/id-a", with(form(page), "value", `{"mine":1}`)); !strings.Contains(w.Body.String(), "look at it again") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	to, _ = o.follows("/edit/id-a/save", with(form(shown), "reason", "again"))
	o.until(to, "Left as they were")
	undo := "/undo/" + strings.TrimPrefix(o.operationOf("corners swapped"), "/replays/")
	to, _ = o.follows(undo, with(form(o.see(undo)), "reason", "it was right"))
	o.until(to, ">done<")
	if got := o.see("/letters/id-a"); strings.Contains(got, "[2,0],[2,2]") {
		t.Error("the edit is not taken back")
	}
	for name, form := range map[string]url.Values{
		"no JSON": with(form(page), "value", "{"), "nothing": form(page), "a patch by hand": with(form(page), "patch", "{}"),
	} {
		if w := o.send("/edit/id-b", form); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	if w := o.send("/edit/nobody", with(form(page), "value", mended)); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// operationOf returns the id of the operation with a reason.
func (o *operator) operationOf(reason string) string {
	o.t.Helper()
	for _, job := range read[ReplaysAnswer](o.desk, "/api/replays").Replays.Jobs {
		if job.Reason == reason {
			return job.ID
		}
	}
	o.t.Fatalf("no operation because of %q", reason)
	return ""
}

// By clicks: the whole value is mended, what changes is shown, and the new version passes.
func TestBrowser_S4_6_S4_8_mends_a_dead_letter(t *testing.T) {
	browser := chromium.Start(t)
	d := newDeskOf(t, &Changes{}, letter("a", 0))
	address := listening(d)
	p := browser.Open(address+"/letters/a", 1280, 900)
	p.Click("Edit it…")
	p.AwaitText("The whole value")
	var done bool
	must.Do(t, p.Eval(`document.querySelector("textarea").value = `+"`"+mended+"`"+`; true`, &done))
	p.ClickOn("textarea")
	p.ClickOn("main section:last-child button")
	p.AwaitText("What would be different")
	p.AwaitText("passes")
	p.Type("input[name=reason]", "corners swapped")
	p.Click("Save as a new version")
	p.Await(`document.querySelector(".badge.done")`)
	p.Go(address + "/letters/a")
	p.Await(`document.querySelector("pre").innerText.includes("[2,0],[2,2]")`)
	if log := p.Log(); len(log) > 0 {
		t.Errorf("the console of the browser is not empty: %s", strings.Join(log, "\n"))
	}
}
