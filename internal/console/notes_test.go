package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

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
		w := o.send("/notes/"+id, form)
		expect.That(t, w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), why), "%d %s", w.Code, w.Body)
	}
	w := o.send("/notes/none", with(form(o.see(page)), "note", "x"))
	expect.That(t, w.Code == http.StatusNotFound, "%d %s", w.Code, w.Body)
	o.follows("/notes/"+id, with(form(o.see(page)), "note", " "))
	expect.That(t, noted() == nil, "%+v", noted())
}
