package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// shown returns the text of a page that must have a status.
func shown(d *desk, path string, status int) string {
	d.t.Helper()
	w := d.get(path)
	if w.Code != status || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		d.t.Fatalf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

func TestPage_S4_6_says_first_how_many_wait_and_since_when(t *testing.T) {
	other := func(c *header.Control) { c.ErrorMessage = "no such code" }
	d := newDesk(t, letter("a", 0), letter("b", 1, other), letter("c", 2, other), replaying("c", "fix-1"))
	text := shown(d, "/", http.StatusOK)
	first := regexp.MustCompile(`(?s)<h1>(.*?)</h1>`).FindStringSubmatch(text)
	if first == nil || !strings.HasPrefix(first[1], "2 pending dead letters · 2 groups in all · the oldest ") || !strings.Contains(first[1], ">60 min ago<") || !strings.Contains(first[1], "retention can delete it in 6 d") {
		t.Errorf("%q", first)
	}
	for _, want := range []string{`href="/letters/a"`, `href="/letters/b"`, `href="/letters/c"`, "no such code", "Dead letters: 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	d.put(letter("a/b?c#d", 3))
	if odd := regexp.MustCompile(`href="(/letters/a[^"]+)"`).FindStringSubmatch(shown(d, "/", http.StatusOK)); odd == nil || !strings.Contains(shown(d, odd[1], http.StatusOK), "<h1>a/b?c#d</h1>") {
		t.Errorf("%q", odd)
	}
	link := regexp.MustCompile(`href="(/\?group=[^"]+)"`).FindStringSubmatch(text)
	if of := shown(d, link[1], http.StatusOK); strings.Contains(of, `href="/letters/a"`) || !strings.Contains(of, `href="/letters/b"`) || !strings.Contains(of, "Dead letters: 2") {
		t.Errorf("%s shows %s", link[1], of)
	}
	if none := shown(d, "/?text=nothing&code=&since=&status=&order=oldest", http.StatusOK); !strings.Contains(none, "No dead letter matches") {
		t.Errorf("%s", none)
	}
}

func TestPage_S4_6_pages_through_all(t *testing.T) {
	d := newDesk(t)
	for i := range 120 {
		d.put(letter(string(rune('a'+i/26))+string(rune('a'+i%26)), i))
	}
	path, seen := "/?order=newest", map[string]bool{}
	for pages := 1; ; pages++ {
		text := shown(d, path, http.StatusOK)
		for _, m := range regexp.MustCompile(`href="/letters/([a-z]+)"`).FindAllStringSubmatch(text, -1) {
			if seen[m[1]] {
				t.Errorf("%s is repeated on %s", m[1], path)
			}
			seen[m[1]] = true
		}
		next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(text)
		if next == nil {
			if pages != 3 || len(seen) != 120 {
				t.Errorf("%d dead letters on %d pages", len(seen), pages)
			}
			return
		}
		path = strings.ReplaceAll(next[1], "&amp;", "&")
	}
}

// Text of records is text, whatever it says.
func TestPage_S4_6_payloads_are_text(t *testing.T) {
	hostile := "<script>alert(1)</script>\x1b[2J\u202e\"'><img src=x>"
	r := letter("<b>id", 0, func(c *header.Control) { c.ErrorMessage, c.FeatureID, c.ErrorCode = hostile, hostile, hostile })
	r.Value = []byte(hostile)
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: hostile, Value: []byte(hostile)})
	d := newDesk(t, r)
	for _, path := range []string{"/", "/letters/%3Cb%3Eid", "/letters/%3Cscript%3E", "/?text=" + "%3Cscript%3E%22%3E"} {
		w := d.get(path)
		text := regexp.MustCompile(`<script src="/(live|keys|draw).js" defer></script>`).ReplaceAllString(w.Body.String(), "") // the page's own
		if strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "<b>id") || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s: %s", path, text)
		}
		if csp := w.Header().Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") {
			t.Errorf("%s", csp)
		}
	}
}

func TestPage_S4_6_one_dead_letter_and_failures(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	if text := shown(d, "/letters/a", http.StatusOK); !strings.Contains(text, "&#34;P-1&#34;") || !strings.Contains(text, "ring 3 crosses itself") || !strings.Contains(text, "refused") {
		t.Errorf("%s", text)
	}
	if text := shown(d, "/letters/nobody", http.StatusNotFound); !strings.Contains(text, "no such dead letter") {
		t.Errorf("%s", text)
	}
	if text := shown(d, "/?since=yesterday", http.StatusBadRequest); !strings.Contains(text, "since:") {
		t.Errorf("%s", text)
	}
	d.broker.Close()
	if text := shown(d, "/", http.StatusOK); !strings.Contains(text, "Not up to date") || !strings.Contains(text, "cannot reach Kafka") {
		t.Errorf("%s", text)
	}
	if w := d.get("/style.css"); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestPage_S4_6_numbers_and_spans(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for d, want := range map[int64]string{-1: "0 s", 119: "119 s", 120: "2 min", 7199: "119 min", 7200: "2 h", 172800: "2 d"} {
		if got := span(time.Duration(d) * time.Second); got != want {
			t.Errorf("%d s: %q, want %q", d, got, want)
		}
	}
}

func TestPercent_S4_6_is_a_plain_number(t *testing.T) {
	for share, want := range map[float64]string{1: "≥ 100 %", 0.999: "≥ 99 %", 0.1: "≥ 10 %", 0.0123: "≥ 1.2 %", 0.00004: "> 0 %", 0: "≥ 0 %"} {
		if got := percent(&share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}
