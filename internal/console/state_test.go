package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestPage_S4_6_says_that_no_instance_runs(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	if text := shown(d, "/", http.StatusOK); !strings.Contains(text, ">Attention<") || !strings.Contains(text, "no instance of features is running") {
		t.Errorf("%s", text)
	}
	d.broker.Close()
	if text := shown(d, "/", http.StatusOK); !strings.Contains(text, "it is not known whether records flow") {
		t.Errorf("%s", text)
	}
}

func TestPage_S4_6_groups_that_wait_come_first(t *testing.T) {
	waits := func(c *header.Control) { c.ErrorMessage = "no such code" }
	d := newDesk(t, letter("a", 0), letter("b", 1), letter("c", 2, waits), replaying("a", "fix-1"), replaying("b", "fix-1"))
	text := shown(d, "/", http.StatusOK)
	if first, second := strings.Index(text, "<br>no such code"), strings.Index(text, "<br>ring &lt;n&gt;"); first < 0 || second < first {
		t.Errorf("%d %d in %s", first, second, text)
	}
}

func TestPage_S4_6_operations_and_their_events(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	for path, want := range map[string]string{"/replays": "Nobody has replayed", "/audit": "Nothing was done"} {
		if text := shown(d, path, http.StatusOK); !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
	}
	d.put(replaying("a", "fix-1"), event("a", "discard-1", 0))
	for path, want := range map[string]string{
		"/replays": `href="/replays/fix-1"`, "/replays/fix-1": "<dt>Under way</dt><dd>1</dd>", "/audit": `href="/audit?operation=discard-1"`,
		"/audit?operation=discard-1&letter=&since=": `href="/letters/a"`,
	} {
		if text := shown(d, path, http.StatusOK); !strings.Contains(text, want) {
			t.Errorf("%s: no %s in %s", path, want, text)
		}
	}
	shown(d, "/replays/nobody", http.StatusNotFound)
	shown(d, "/audit?since=yesterday", http.StatusBadRequest)
}

func TestMark_S4_6_finds_the_value_at_a_path(t *testing.T) {
	for _, c := range []struct{ text, path, want string }{
		{`{"a": {"b/c": [1, "x" ,{"d~": null}]}}`, "/a/b~1c/1", `"x"`},
		{`{"a": {"b/c": [1, "x" ,{"d~": null}]}}`, "/a/b~1c/2/d~0", "null"},
		{`{"other":"/a","a":"N/A"}`, "/a", `"N/A"`},
		{`{"a":1}`, "/b", ""},
		{`{"a":1}`, "/a/b", ""},
		{`[1]`, "/7", ""},
		{`no JSON`, "/a", ""},
		{`{"a":1}`, "", ""},
		{`{"v":"` + strings.Repeat("x", 1<<20) + `","a":"N/A"}`, "/a", `"N/A"`},
	} {
		got := mark(c.text, c.path)
		if got.Marked != c.want || len(got.Before)+len(got.Marked)+len(got.After) > shownValue {
			t.Errorf("%.40s %s: %q", c.text, c.path, got.Marked)
		}
		if whole := got.Before + got.Marked + got.After; !strings.Contains(c.text, whole) || got.CutBefore != !strings.HasPrefix(c.text, whole) {
			t.Errorf("%.40s %s: cut to %.40s", c.text, c.path, whole)
		}
	}
}
