package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestStats_S4_6_says_how_fresh_it_is(t *testing.T) {
	d := newDesk(t, letter("a", 0), letter("b", 1), replaying("b", "fix-1"))
	got := read[StatsAnswer](d, "/api/stats")
	expect.That(t, got.Stats.Letters == 2 && got.Stats.Statuses["pending"] == 1 && got.Stats.Oldest != nil && got.Stats.Oldest.ID == "a", "%+v", got.Stats)
	f := got.Fresh
	expect.That(t, f.At == "2026-11-03T04:05:06.000Z" && f.AgeSeconds == 0 && f.Stale == "" && f.Offsets["features.dlq"] == 2 && f.Offsets["features.dlq-status"] == 1, "%+v", f)
	d.put(letter("c", 2))
	got = read[StatsAnswer](d, "/api/stats")
	expect.That(t, got.Stats.Letters == 3 && got.Fresh.Offsets["features.dlq"] == 3, "a dead letter that arrived is missing: %+v", got)
}

func TestGroups_S4_6_the_largest_first_page_by_page(t *testing.T) {
	of := func(message string) func(*header.Control) {
		return func(c *header.Control) { c.ErrorMessage = message }
	}
	d := newDesk(t, letter("a", 0), letter("b", 1, of("no such code")), letter("c", 2, of("no such code")), letter("e", 3, of("no such field")))
	var got []int
	for cursor := ""; ; {
		page := read[GroupsAnswer](d, "/api/groups?limit=1"+cursor)
		must.That(t, page.Total == 3 && len(page.Groups) == 1, "%+v", page)
		got = append(got, page.Groups[0].Count)
		if cursor = "&cursor=" + page.Next; page.Next == "" {
			break
		}
	}
	expect.Equal(t, fmt.Sprint(got), "[2 1 1]")
	filtered := read[GroupsAnswer](d, "/api/groups?id=a&id=b")
	expect.That(t, filtered.Total == 2 && filtered.Groups[0].Count == 1, "a filter: %+v", filtered)
	says(t, d.get("/?groups=2.~"), http.StatusOK, "3 groups in all", "no such field", "Largest groups")
	d.refused(d.get("/api/groups?cursor=x"), http.StatusBadRequest)
}

// Dead letters that arrive while somebody pages neither cause repetitions nor hide others.
func TestLetters_S4_6_pages_repeat_nothing_while_dead_letters_arrive(t *testing.T) {
	for _, order := range []string{"oldest", "newest"} {
		t.Run(order, func(t *testing.T) {
			var before []*kgo.Record
			var want []string
			for i := range 7 {
				before = append(before, letter(fmt.Sprintf("first-%d", i), 10*i))
				want = append(want, fmt.Sprintf("first-%d", i))
			}
			if order == "newest" {
				slices.Reverse(want)
			}
			d := newDesk(t, before...)
			var got []string
			cursor := ""
			for page := range 20 {
				answer := read[LettersAnswer](d, "/api/dead-letters?limit=2&order="+order+cursor)
				first := page == 0
				expect.That(t, first == (answer.Total != nil) && (!first || *answer.Total == 7), "the total of page %d is %v", page, answer.Total)
				for _, l := range answer.Letters {
					got = append(got, l.ID)
				}
				if answer.Next == "" {
					break
				}
				cursor = "&cursor=" + answer.Next
				if page < 2 { // one among those that were listed, one beyond all
					d.put(letter(fmt.Sprintf("early-%d", page), -5-page), letter(fmt.Sprintf("late-%d", page), 1000+page))
				}
			}
			expect.Equal(t, len(slices.Compact(slices.Sorted(slices.Values(got)))), len(got), "repeated among", got)
			kept := slices.DeleteFunc(slices.Clone(got), func(id string) bool { return !strings.HasPrefix(id, "first") })
			expect.That(t, slices.Equal(kept, want), "%v, want %v in it", got, want)
		})
	}
}

// A page of large keys ends early, and the next one continues after it.
func TestLetters_S4_6_a_page_is_bounded_in_bytes(t *testing.T) {
	var records []*kgo.Record
	for i := range 60 {
		r := letter(fmt.Sprintf("id-%d", i), i)
		r.Key = []byte(strings.Repeat("k", 100<<10))
		records = append(records, r)
	}
	d := newDesk(t, records...)
	first := read[LettersAnswer](d, "/api/dead-letters?limit=60")
	must.That(t, len(first.Letters) == pagePart && first.Next != "" && *first.Total == 60, "%d dead letters, total %v, next %q", len(first.Letters), first.Total, first.Next)
	second := read[LettersAnswer](d, "/api/dead-letters?limit=60&cursor="+first.Next)
	expect.That(t, len(second.Letters) == 10 && second.Next == "" && second.Letters[0].ID == "id-50", "%d dead letters, next %q", len(second.Letters), second.Next)
}

func TestLetter_S4_6_with_its_value(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	got := read[LetterAnswer](d, "/api/dead-letters/a").Letter
	expect.That(t, got.ID == "a" && got.Value != nil && *got.Value == bowTie && got.Today != nil && got.Feature != nil, "%+v", got)
	w := d.get("/api/dead-letters/a/value")
	h := w.Header()
	expect.That(t, w.Body.String() == bowTie && h.Get("Content-Type") == "application/octet-stream" && len(h.Get("Switchback-Sha256")) == 64 && h.Get("Switchback-Index-Time") != "", "%d %v %s", w.Code, h, w.Body)
	for _, path := range []string{"/api/dead-letters/nobody", "/api/dead-letters/nobody/value", "/api/replays/nobody"} {
		said := d.refused(d.get(path), http.StatusNotFound)
		expect.That(t, said.Exit == cli.ExitNothing && said.Code == "nothing", "%s: %+v", path, said)
	}
}

func TestReplays_S4_8_in_progress_and_one(t *testing.T) {
	d := newDesk(t, letter("a", 0), letter("b", 1), replaying("a", "fix-1"))
	got := read[ReplaysAnswer](d, "/api/replays")
	expect.That(t, len(got.Replays.Replays) == 1 && got.Replays.Replays[0].ReplayID == "fix-1" && got.Replays.Replays[0].UnderWay == 1 && got.Fresh.Offsets["features.dlq-status"] == 1,
		"%+v", got)
	d.put(replaying("b", "fix-2"))
	got = read[ReplaysAnswer](d, "/api/replays")
	expect.That(t, len(got.Replays.Replays) == 2, "dead letters that arrived since are missing: %+v", got)
	of := read[ReplayAnswer](d, "/api/replays/fix-1").Replay
	expect.That(t, of.Attempted == 1 && of.UnderWay == 1, "%+v", of)
	d.put(replaying("b", "fix-1"), reprocessed("b", "fix-1"))
	page := read[OutcomesAnswer](d, "/api/replays/fix-1/dead-letters?limit=1")
	must.That(t, page.Total == 2 && len(page.Letters) == 1 && page.Letters[0].ID == "a" && page.Letters[0].Result == states.LetterWaiting, "%+v", page)
	page = read[OutcomesAnswer](d, "/api/replays/fix-1/dead-letters?limit=1&cursor="+page.Next)
	expect.That(t, page.Total == 2 && page.Letters[0].ID == "b" && page.Letters[0].Result == states.LetterReprocessed && page.Next == "", "%+v", page)
	says(t, d.get("/replays/fix-1?outcome=reprocessed&cursor="), http.StatusOK, "<h2>Replay</h2>", "Its dead letters: 1", `<a href="/dead-letters/b">`, `<span class="badge reprocessed">reprocessed</span>`)
	said := d.refused(d.get("/api/replays/fix-1/dead-letters?outcome=lost"), http.StatusBadRequest)
	expect.That(t, strings.Contains(said.Message, "use one of"), "%+v", said)
	d.refused(d.get("/api/replays/nobody/dead-letters"), http.StatusNotFound)
}

// The audit trail is listed newest first, page by page, also events of one moment, and while others are written.
func TestAudit_S4_6_the_newest_first(t *testing.T) {
	var records []*kgo.Record
	for i := range 9 {
		records = append(records, event(fmt.Sprintf("%d", i), fmt.Sprintf("op-%d", i%2), i))
	}
	d := newDesk(t, records...)
	pages := func(query string) (letters, operations []string, total int) {
		for cursor, n := "", 0; ; n++ {
			answer := read[AuditAnswer](d, "/api/audit?"+query+cursor)
			for _, e := range answer.Events {
				letters = append(letters, e.DeadLetter)
			}
			for _, a := range answer.Actions {
				operations = append(operations, a.Operation)
			}
			if cursor = "&cursor=" + answer.Next; answer.Next == "" {
				return letters, operations, answer.Total
			}
			if n == 0 && strings.HasPrefix(query, "limit=4") {
				d.put(event("new", "op-new", 60))
			}
		}
	}
	for query, want := range map[string]string{
		"limit=2": "[8 7 6 5 4 3 2 1 0] 9", "operation=op-1": "[7 5 3 1] 4", "dead_letter=3": "[3] 1", "since=2026-11-03T04:05:13Z&limit=1": "[8 7] 2", "operation=none": "[] 0",
	} {
		letters, _, total := pages(query)
		expect.Equal(t, fmt.Sprint(letters, total), want, query)
	}
	_, operations, total := pages("operations=true&limit=1")
	expect.Equal(t, fmt.Sprint(operations, total), "[op-1 op-0] 2")
	letters, _, total := pages("limit=4")
	expect.Equal(t, fmt.Sprint(letters, total), "[8 7 6 5 4 3 2 1 0] 10")
	for i := range 7 {
		d.put(event(fmt.Sprint("same-", i), "op-same", 90))
	}
	letters, _, _ = pages("limit=2&operation=op-same")
	slices.Sort(letters)
	expect.Equal(t, fmt.Sprint(letters), "[same-0 same-1 same-2 same-3 same-4 same-5 same-6]")
	says(t, d.get("/audit"), http.StatusOK, "What operators did: 4")
	done := read[AuditAnswer](d, "/api/audit?operations=true").Actions
	expect.That(t, done[0].Operation == "op-same" && done[0].Done["state_changed"] == 7, "%+v", done)
	d.refused(d.get("/api/audit?cursor=1.2"), http.StatusBadRequest)
}

// An invalid filter never returns everything.
func TestConsole_S4_6_refuses_hostile_queries(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	for _, query := range []string{
		"cod=x", "status=gone", "status=", "limit=0", "limit=501", "limit=1e2", "limit=-1", "limit=99999999999999999999", "limit=1&limit=2", "order=random",
		"cursor=x", "cursor=1.2", "cursor=1.2.3.4", "cursor=%27%20OR%201=1", "since=yesterday", "since=1&since=2", "until=%00", "text=%ff", "text=a%00b", "bbox=1,2,3", "bbox=NaN,0,1,1",
		"gone=maybe", "header=", "%zz=1", "a;b", "text=" + strings.Repeat("x", maxQuery),
	} {
		w := d.get("/api/dead-letters?" + query)
		want := http.StatusBadRequest
		if len(query) > maxQuery {
			want = http.StatusRequestURITooLong
		}
		said := d.refused(w, want)
		expect.That(t, said.Exit == cli.ExitUsage, "%.40s: %+v", query, said)
	}
	d.refused(d.get("/api/stats?since=1h"), http.StatusBadRequest)
	d.refused(d.get("/api/dead-letters/%ff"), http.StatusBadRequest)
	d.refused(d.get("/api/nowhere"), http.StatusNotFound)
	for _, harmless := range []string{"text=%27%3B+DROP+TABLE+dead_letter_queue", "id=%25", "feature=%3Cscript%3E", "code=" + strings.Repeat("x", 4000)} {
		got := read[LettersAnswer](d, "/api/dead-letters?"+harmless)
		expect.That(t, len(got.Letters) == 0 && *got.Total == 0, "%.40s selects %+v", harmless, got.Letters)
	}
	expect.Equal(t, len(read[LettersAnswer](d, "/api/dead-letters").Letters), 1, "dead letters")
}

// An answer sent in pieces could keep the index busy for as long as a client likes.
func TestConsole_S4_6_an_answer_is_complete_before_it_is_sent(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	for _, path := range []string{"/api/dead-letters", "/api/dead-letters/a", "/api/dead-letters/a/value", "/api/nowhere"} {
		w := d.get(path)
		expect.Equal(t, w.Header().Get("Content-Length"), fmt.Sprint(w.Body.Len()), path, "Content-Length", w.Body.Len())
	}
}

func TestConsole_S4_6_bytes_cannot_steer_a_terminal(t *testing.T) {
	d := newDesk(t, letter("a", 0, func(c *header.Control) { c.ErrorMessage = "\x1b[2J\u202e<script>" }))
	w := d.get("/api/dead-letters")
	expect.That(t, !strings.ContainsAny(w.Body.String(), "\x1b\u202e") && json.Valid(w.Body.Bytes()), "%s", w.Body)
}

// Without a pipeline there are no replays, and the answer suggests what to do.
func TestReplays_S4_6_need_a_pipeline(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	d.console.pipeline = nil
	for _, path := range []string{"/api/replays", "/api/replays/x", "/api/audit"} {
		said := d.refused(d.get(path), http.StatusBadRequest)
		expect.That(t, strings.Contains(said.Message, "-c pipeline.yaml"), "%+v", said)
	}
}

func TestQuery_S4_6_selects_what_the_flags_select(t *testing.T) {
	r := routes()[2]
	q := must.Get(r.parse(request("/api/dead-letters?code=a,b&code=c&header=x=1&bbox=1,2,3,4&since=36h&gone=true&order=newest")))(t)
	got, err := q.selection(start)
	expect.That(t, err == nil && slices.Equal(got.Codes, []string{"a,b", "c"}) && len(got.Headers) == 1 && got.BBox != nil && got.Gone && got.Newest && got.Since.Equal(start.Add(-36*60*60*1e9)),
		"%+v, %v", got, err)
	none := dlqindex.Query{Filter: deadletters.Filter{Limit: defaultLimit}}
	got = must.Get(must.Get(r.parse(request("/api/dead-letters")))(t).selection(start))(t)
	expect.Equal(t, fmt.Sprint(got), fmt.Sprint(none))
}
