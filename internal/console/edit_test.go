package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const mended = `{"type":"Feature","id":"P-1","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},"properties":{}}`

// A property keeps its type, and a property without a change stays as it is, whatever its value.
func TestTyped_S4_8_what_was_written_over_a_property(t *testing.T) {
	for _, c := range [][3]string{ // the old value, the input, the value of the step; "" is no step
		{`"a"`, "b", `"b"`}, {`"12"`, "13", `"13"`}, {`12`, "13", `13`}, {`12`, "1'300", `"1'300"`}, {`12`, "13 ha", `"13 ha"`}, {`12`, " 13 ", `13`},
		{`null`, "x", `"x"`}, {`null`, "5", `5`}, {`true`, "false", `false`}, {`1`, "[1]", `"[1]"`}, {`1`, `{"a":1}`, `"{\"a\":1}"`}, {`1`, "", `""`}, {`"a"`, "", `""`},
		{`1.50`, "1.50", ""}, {`"a"`, "a", ""}, {`"a\"b<\u00e9"`, `a"b<é`, ""}, {`1e400`, "1e400", ""}, {`no JSON`, "x", ""}, {``, "x", ""},
	} {
		form := url.Values{"to:/properties/p": {c[1]}, "was:/properties/p": {c[0]}, "token": {"x"}}
		got, err := typed(form)
		want := `[{"op":"replace","path":"/properties/p","value":` + c[2] + `}]`
		expect.That(t, (c[2] != "" || err != nil) && (c[2] == "" || string(got) == want), "%s, written %q: %s (%v)", c[0], c[1], got, err)
	}
	got, err := typed(url.Values{"value": {"{\r\n\"a\":1}"}})
	expect.That(t, err == nil && string(got) == `[{"op":"replace","path":"","value":{"a":1}}]`, "%s (%v)", got, err)
	_, err = typed(url.Values{"value": {`{"a":1} x`}})
	expect.That(t, err != nil, "two values pass as one")
}

// A value is only offered for editing if a form returns it unchanged.
func TestEditView_S4_8_offers_what_a_form_keeps(t *testing.T) {
	of := func(value string) (*editView, error) {
		return newEditView(&dlq.DetailJSON{LetterJSON: dlq.LetterJSON{Value: &value}})
	}
	v := must.Get(of(`{"properties":{"a/b~":1,"two\nlines":1,"text":"two\nlines","list":[1],"null":null,"s":"x"}}`))(t)
	var paths []string
	for _, f := range v.Fields {
		paths = append(paths, f.Path+"="+f.Text)
	}
	expect.Equal(t, strings.Join(paths, " "), "/properties/a~1b~0=1 /properties/null=null /properties/s=x")
	_, err := of(strings.Repeat(" ", maxEdited) + "1")
	expect.That(t, err != nil && strings.Contains(err.Error(), "replayer edit"), "a large value: %v", err)
	_, err = newEditView(&dlq.DetailJSON{})
	expect.That(t, err != nil, "a value that is no text can be edited")
	for _, value := range []string{`[1]`, `{"properties":{"a":1}`} {
		v = must.Get(of(value))(t)
		expect.That(t, len(v.Fields) == 0 && v.Text == value, "%+v", v)
	}
}

// An edit shows its changes and whether the result would pass, writes a new version with the operator's name, and can
// be undone.
func TestEdit_S4_6_S4_8_makes_a_new_version(t *testing.T) {
	o := newOperator(t, 2)
	page := o.see("/edit/id-a")
	w := o.send("/edit/id-a", with(form(page), "value", mended))
	shown := w.Body.String()
	must.That(t, w.Code == http.StatusOK && strings.Contains(shown, "/geometry/coordinates") && strings.Contains(shown, ">passes</span>"), "%d %s", w.Code, shown)
	expect.That(t, !strings.Contains(o.see("/dead-letters/id-a"), "[2,0],[2,2]"), "the preview has changed it")
	says(t, o.send("/edit/id-a/save", form(shown)), http.StatusBadRequest, "needs a reason")
	to, _ := o.follows("/edit/id-a/save", with(form(shown), "reason", "corners swapped"))
	o.until(to, ">done<")
	got := o.see("/dead-letters/id-a")
	expect.That(t, strings.Contains(got, "[2,0],[2,2]") && strings.Contains(got, ">passes</span>"), "%v", got)
	// Somebody else looked at the bytes before.
	says(t, o.send("/edit/id-a", with(form(page), "value", `{"mine":1}`)), http.StatusOK, "look at it again")
	to, _ = o.follows("/edit/id-a/save", with(form(shown), "reason", "again"))
	o.until(to, "Left as they were")
	undo := "/undo/" + strings.TrimPrefix(o.operationOf("corners swapped"), "/replays/")
	to, _ = o.follows(undo, with(form(o.see(undo)), "reason", "it was right"))
	o.until(to, ">done<")
	expect.That(t, !strings.Contains(o.see("/dead-letters/id-a"), "[2,0],[2,2]"), "the edit is not undone")
	for name, form := range map[string]url.Values{
		"no JSON": with(form(page), "value", "{"), "nothing": form(page), "a patch by hand": with(form(page), "patch", "{}"),
	} {
		expect.Equal(t, o.send("/edit/id-b", form).Code, http.StatusBadRequest, name)
	}
	says(t, o.send("/edit/nobody", with(form(page), "value", mended)), http.StatusNotFound)
}

// A value that is broken JSON is mended as a whole.
func TestEdit_S4_8_mends_broken_JSON(t *testing.T) {
	o := newOperator(t, 1)
	broken := letter("broken", 1)
	broken.Value = []byte(strings.Replace(mended, `"properties"`, `properties`, 1))
	o.put(broken)
	shown := o.send("/edit/broken", with(form(o.see("/edit/broken")), "value", mended)).Body.String()
	must.That(t, strings.Contains(shown, "<del>") && strings.Contains(shown, ">passes</span>"), "%s", shown)
	to, _ := o.follows("/edit/broken/save", with(form(shown), "reason", "quotes"))
	o.until(to, ">done<")
	expect.That(t, strings.Contains(o.see("/dead-letters/broken"), ">passes</span>"), "it does not pass")
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

// A note is text, has a name and a time, is audited, does not overwrite one that its writer has not seen, and can be removed.
func TestNotes_S4_6_on_a_group(t *testing.T) {
	o := newOperator(t, 2)
	noted := func() *dlq.NoteJSON {
		return read[GroupsAnswer](o.desk, "/api/groups").Groups[0].Note
	}
	id := read[GroupsAnswer](o.desk, "/api/groups").Groups[0].ID
	page := "/?group=" + id
	before := form(o.see(page))
	to, shown := o.follows("/notes/"+id, with(form(o.see(page)), "note", "<b>waits</b>\x1b[2J\u202e\r\nfor a survey"))
	expect.That(t, to == page && strings.Contains(shown, "&lt;b&gt;waits&lt;/b&gt;") && !strings.Contains(shown, "<b>waits"), "%s: %s", to, shown)
	n := noted()
	expect.That(t, n != nil && n.By == "anna" && n.At == dlq.TimeText(start) && strings.HasSuffix(n.Text, "\nfor a survey"), "%+v", n)
	expect.That(t, strings.Contains(o.see("/audit"), "note on group "+id), "no audit event")
	for why, form := range map[string]url.Values{
		"anna has written another note meanwhile": with(before, "note", "mine"),
		"use a text of at most 900":               with(form(o.see(page)), "note", strings.Repeat("x", control.MaxNote+1)),
	} {
		says(t, o.send("/notes/"+id, form), http.StatusBadRequest, why)
	}
	says(t, o.send("/notes/none", with(form(o.see(page)), "note", "x")), http.StatusNotFound)
	o.follows("/notes/"+id, with(form(o.see(page)), "note", " "))
	expect.That(t, noted() == nil, "%+v", noted())
}
