package console

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// operator works with the forms of a console as a browser does.
type operator struct {
	*desk
	cookie *http.Cookie
}

// newOperator starts a console that may change dead letters, in the name of anna.
func newOperator(t *testing.T, letters int) *operator {
	t.Helper()
	o := &operator{desk: newDeskOf(t, &Changes{})}
	for i := range letters {
		o.put(letter("id-"+string(rune('a'+i)), i))
	}
	return o
}

// see loads a page.
func (o *operator) see(path string) string {
	o.t.Helper()
	r := request(path)
	if o.cookie != nil {
		r.AddCookie(o.cookie)
	}
	w := o.ask(r)
	if cookies := w.Result().Cookies(); len(cookies) > 0 {
		o.cookie = cookies[0]
	}
	must.That(o.t, w.Code == http.StatusOK, "%s: %d %s", path, w.Code, w.Body)
	return w.Body.String()
}

// form reads the hidden fields of the last form of a page.
func form(page string) url.Values {
	out := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		out.Set(m[1], html.UnescapeString(m[2]))
	}
	return out
}

// send posts a form as a page of the console does.
func (o *operator) send(path string, form url.Values) *httptest.ResponseRecorder {
	o.t.Helper()
	return o.ask(o.posting(path, form))
}

func (o *operator) posting(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1:8480"
	r.Header.Set("Origin", "http://127.0.0.1:8480")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if o.cookie != nil {
		r.AddCookie(o.cookie)
	}
	return r
}

// follows posts a form that must succeed and returns the resulting page.
func (o *operator) follows(path string, form url.Values) (to, page string) {
	o.t.Helper()
	w := o.send(path, form)
	must.That(o.t, w.Code == http.StatusSeeOther, "%s: %d %s", path, w.Code, w.Body)
	return w.Header().Get("Location"), o.see(w.Header().Get("Location"))
}

// until loads a page until it contains a text.
func (o *operator) until(path, text string) string {
	o.t.Helper()
	page := ""
	eventually.Until(o.t.Context(), o.t, text, func() (bool, string) {
		page = o.see(path)
		return strings.Contains(page, text), page
	})
	return page
}

func (o *operator) statuses() map[string]int {
	o.t.Helper()
	return read[StatsAnswer](o.desk, "/api/stats").Stats.Statuses
}

func with(form url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// A discard shows the number of dead letters, is recorded with the operator's name and reason, and can be undone.
func TestChanges_S4_6_discards_and_undoes(t *testing.T) {
	o := newOperator(t, 3)
	page := o.see("/change?verb=discard&id=id-a&id=id-b")
	must.That(t, strings.Contains(page, ">Discard 2 dead letters</button>"), "%v", page)
	to, _ := o.follows("/change", with(form(page), "reason", "gone for good"))
	page = o.until(to, ">done<")
	got := o.statuses()
	expect.That(t, got["discarded"] == 2 && got["pending"] == 1, "%v", got)
	operation := strings.TrimPrefix(to, "/replays/")
	events := o.see("/audit?operation=" + operation)
	expect.That(t, strings.Contains(events, "<td>anna</td>") && strings.Contains(events, "<td>gone for good</td>"), "%v", events)
	expect.That(t, strings.Contains(page, `href="/undo/`+operation+`"`), "%v", page)
	page = o.see("/undo/" + operation)
	must.That(t, strings.Contains(page, ">Take back 2 dead letters</button>") && strings.Contains(page, "discard of 2 dead letters by anna"), "%v", page)
	to, _ = o.follows("/undo/"+operation, with(form(page), "reason", "still needed"))
	o.until(to, ">done<")
	expect.Equal(t, o.statuses()["pending"], 3, "pending")
	says(t, o.with(request("/undo/"+operation)), http.StatusOK, "No dead letter of this operation can be taken back")
}

// Dead letters that were sent out of the pipeline are only reopened if the box for it is checked.
func TestChanges_S4_6_reopens_what_was_put_back_only_by_a_word(t *testing.T) {
	o := newOperator(t, 2)
	for id, to := range map[string]string{"id-a": "other", "id-b": ""} {
		o.put(deadletters.State{ID: id, Status: deadletters.Discarded, Destination: to, ReplayID: to, At: start, By: "bo"}.Record("features.dlq-status", 0))
	}
	for _, said := range []string{"", "on"} {
		page := o.see("/change?verb=reopen")
		must.That(t, strings.Contains(page, "1 of these were put back into other already, and none of them is known to have died again") && strings.Contains(page, `name="put_back"`), "%v", page)
		to, _ := o.follows("/change", with(form(page), "reason", "again", "put_back", said))
		o.until(to, ">done<")
		expect.Equal(t, o.statuses()["pending"], 1+len(said)/2, "pending")
	}
	says(t, o.with(request("/change?verb=replay")), http.StatusOK, "Dry run of 2 dead letters")
}

// A replay is executed as its dry run showed it, after the number was typed.
func TestChanges_S4_6_S4_8_replays_what_the_dry_run_showed(t *testing.T) {
	o := newOperator(t, 0)
	o.passing(3)
	o.put(letter("crossed", 9))
	page := o.see("/change?verb=replay")
	must.That(t, strings.Contains(page, ">Dry run of 4 dead letters</button>") && !strings.Contains(page, `name="typed"`), "%v", page)
	to, page := o.follows("/dry-run", form(page))
	if !strings.Contains(page, "<dt>Would fail again</dt><dd>1, which are left as they are</dd>") || !strings.Contains(page, "no instance of features is running") {
		page = o.until(to, "<dt>Would fail again</dt><dd>1, which are left as they are</dd>")
	}
	sends := form(page).Get("expect")
	must.That(t, strings.Contains(page, ">Replay "+sends+" dead letter"), "%v", page)
	for said, wrong := range map[string]url.Values{
		"a change needs a reason":    with(form(page), "typed", sends),
		"refused: type " + sends:     with(form(page), "reason", "fixed"),
		"refused: the page showed 4": with(form(page), "reason", "fixed", "typed", "4", "expect", "4"),
		"use a whole number":         with(form(page), "reason", "fixed", "typed", sends, "canary", "-1"),
	} {
		w := o.send(to, wrong)
		expect.That(t, w.Code != http.StatusSeeOther && strings.Contains(w.Body.String(), said), "%v: %d %s", wrong, w.Code, w.Body)
	}
	expect.Equal(t, o.statuses()["replaying"], 0, "replaying")
	to, _ = o.follows(to, with(form(page), "reason", "the service answers", "typed", sends))
	page = o.until(to, ">done<")
	got := o.statuses()
	expect.That(t, got["replaying"] != 0 && strings.Contains(page, "<dt>Under way</dt>") && strings.Contains(page, "data-live"), "%v %s", got, page)
	says(t, o.send("/drafts/"+strings.TrimPrefix(to, "/replays/"), with(form(o.see("/drafts/"+strings.TrimPrefix(to, "/replays/"))), "reason", "again", "typed", sends)), http.StatusSeeOther)
	expect.Equal(t, o.statuses()["replaying"], 3)
}

// A form that another page sent, or that is of a server before, changes nothing.
func TestChanges_S4_6_refuses_what_its_pages_did_not_send(t *testing.T) {
	o := newOperator(t, 2)
	page := o.see("/change?verb=discard")
	good := with(form(page), "reason", "gone")
	for name, change := range map[string]func(*http.Request){
		"another origin":           func(r *http.Request) { r.Header.Set("Origin", "http://elsewhere.example") },
		"another port":             func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:9999") },
		"no origin":                func(r *http.Request) { r.Header.Del("Origin") },
		"an opaque origin":         func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another site":             func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another one of our ports": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"no session":               func(r *http.Request) { r.Header.Del("Cookie") },
		"somebody else's cookie":   func(r *http.Request) { r.Header.Set("Cookie", "switchback-session=AAAAAAAAAAAAAAAAAAAAAAAAAA") },
		"another host name":        func(r *http.Request) { r.Host = "rebound.example"; r.Header.Set("Origin", "http://rebound.example") },
	} {
		r := o.posting("/change", good)
		change(r)
		w := o.ask(r)
		expect.That(t, w.Code == http.StatusForbidden || w.Code == http.StatusMisdirectedRequest, "%s: %d %s", name, w.Code, w.Body)
	}
	for name, form := range map[string]url.Values{
		"no token":        with(form(page), "reason", "gone", "token", ""),
		"a broken filter": with(form(page), "reason", "gone", "filter", `{"ids":`),
		"another member":  with(form(page), "reason", "gone", "filter", `{"id":["id-a"]}`),
		"another verb":    with(form(page), "reason", "gone", "verb", "prune"),
		"no number":       with(form(page), "reason", "gone", "expect", "x"),
		"fewer":           with(form(page), "reason", "gone", "expect", "1"),
		"no reason":       with(form(page), "reason", " \n"),
		"a long reason":   with(form(page), "reason", strings.Repeat("x", 2000)),
	} {
		w := o.send("/change", form)
		if w.Code == http.StatusSeeOther { // it is found out once the dead letters are chosen
			w = o.get(w.Header().Get("Location"))
		}
		expect.That(t, w.Code >= 400, "%s: %d %s", name, w.Code, w.Body)
	}
	expect.Equal(t, o.send("/change", with(form(page), "reason", strings.Repeat("x", maxForm))).Code, http.StatusRequestEntityTooLarge, "a large form")
	for _, path := range []string{"/", "/dead-letters/id-a", "/api/dead-letters", "/replays/x", "/nowhere"} {
		w := o.send(path, good)
		expect.That(t, w.Code >= 400, "POST %s: %d", path, w.Code)
	}
	o.stop()
	o.open() // an operator starts the server again: its pages are of another key
	says(t, o.send("/change", good), http.StatusForbidden, "Load it again")
	expect.Equal(t, o.statuses()["pending"], 2, "pending")
}

// Without --allow-changes there is no form, and no path takes one.
func TestChanges_S4_6_not_unless_allowed(t *testing.T) {
	o := &operator{desk: newDesk(t, letter("a", 0))}
	for _, path := range []string{"/", "/dead-letters/a", "/audit"} {
		page := o.see(path)
		expect.That(t, !strings.Contains(page, `method="post"`) && !strings.Contains(page, "/change") && o.cookie == nil, "%s: %s", path, page)
	}
	for _, path := range []string{"/change", "/dry-run", "/undo/x", "/replays/x/cancel"} {
		expect.Equal(t, o.send(path, url.Values{}).Code, http.StatusMethodNotAllowed, "POST", path)
	}
	expect.Equal(t, o.get("/change?verb=discard").Code, http.StatusNotFound)
}

// An interrupted operation continues after a restart of the server, from the topics alone.
func TestChanges_S4_6_S4_8_a_replay_goes_on_after_a_restart(t *testing.T) {
	o := newOperator(t, 0)
	o.passing(4)
	to, consent := o.planned(4, "1")
	to, _ = o.follows(to, consent)
	page := o.until(to, "<dt>Put back</dt><dd>1 of 4 dead letters</dd>") // no operator finishes the canary
	expect.That(t, strings.Contains(page, `<button id="pause">Pause</button>`) && strings.Contains(page, `<button id="cancel">Cancel</button>`), "%v", page)
	o.stop()
	o.open()
	page = o.until(to, ">stopped<")
	must.That(t, strings.Contains(page, ">Go on with 3 dead letters…</a>"), "%v", page)
	id := strings.TrimPrefix(to, "/replays/")
	says(t, o.get("/drafts/"+id), http.StatusNotFound, "the server was restarted")
	page = o.see("/go-on/" + id)
	must.That(t, strings.Contains(page, "<code>"+id+"</code> goes on") && strings.Contains(page, ">Dry run of 3 dead letters</button>"), "%v", page)
	o.goesOn(to, 3)
	got := o.statuses()
	expect.That(t, got["replaying"] == 4 && strings.Contains(o.see(to), ">done<"), "%v %s", got, to)
}

// A job is paused, resumed and cancelled; a finished one accepts no order.
func TestChanges_S4_6_orders_a_job(t *testing.T) {
	o := newOperator(t, 0)
	o.passing(3)
	to, consent := o.planned(3, "1")
	to, _ = o.follows(to, consent)
	page := o.until(to, `<button id="pause">`)
	token := url.Values{"token": {form(page).Get("token")}}
	o.follows(to+"/pause", token)
	o.until(to, `<button id="resume">`)
	o.follows(to+"/resume", token)
	o.until(to, `<button id="pause">`)
	o.follows(to+"/cancel", token)
	o.until(to, ">cancelled<")
	says(t, o.send(to+"/pause", token), http.StatusNotFound, "there is nothing to pause")
	says(t, o.send(to+"/prune", token), http.StatusBadRequest)
}

// An operation that cannot begin reports the reason in the words of the commands, and the absence of brokers is
// reported before any question.
func TestChanges_S4_6_says_why_nothing_was_changed(t *testing.T) {
	o := newOperator(t, 2)
	page := o.see("/change?verb=discard")
	o.put(letter("late", 100)) // between the page and the form
	if w := o.send("/change", with(form(page), "reason", "gone")); w.Code == http.StatusSeeOther {
		says(t, o.get(w.Header().Get("Location")), http.StatusConflict, "the page showed 2 dead letters, and now it is 3 dead letters")
	}
	o.broker.Close()
	says(t, o.get("/change?verb=discard"), http.StatusServiceUnavailable, "cannot reach Kafka")
	expect.Equal(t, read[StatsAnswer](o.desk, "/api/stats").Stats.Statuses[string(deadletters.Discarded)], 0, "discarded")
}

// The line of the changes to the listed dead letters is empty where none of them can be changed.
func TestChanges_S4_6_offers_nothing_for_what_is_closed(t *testing.T) {
	o := newOperator(t, 1)
	expect.That(t, strings.Contains(o.see("/"), "What is listed:"), "a pending dead letter can be changed")
	o.put(reprocessed("id-a", "replay-1"))
	eventually.Until(t.Context(), t, "the dead letter is shown as reprocessed", func() (bool, string) {
		got := o.statuses()
		return got["reprocessed"] == 1, fmt.Sprint(got)
	})
	expect.That(t, !strings.Contains(o.see("/"), "What is listed:"), "nothing can be done to a reprocessed dead letter")
}
