package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestPage_S4_6_says_that_no_instance_runs(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	says(t, d.get("/"), http.StatusOK, `<span class="badge attention">Not running</span>`, "no instance of parcels is running")
	d.broker.Close()
	says(t, d.get("/"), http.StatusOK, "it is unknown whether records flow", ">Not known<")
}

// Whoever paused a pipeline resumes it; whoever finds it not running starts it: the page has two words for it.
func TestFlow_S4_6_paused_is_not_dead(t *testing.T) {
	of := func(kinds ...replay.ObstacleKind) (out []replay.Obstacle) {
		for _, k := range kinds {
			out = append(out, replay.Obstacle{Kind: k})
		}
		return out
	}
	for want, found := range map[flow][][]replay.Obstacle{
		flowing:    {nil},
		flowPaused: {of(replay.Paused), of(replay.Unknown, replay.Paused), of(replay.Paused, replay.Unknown)},
		notRunning: {of(replay.NothingRuns), of(replay.NothingRuns, replay.Paused), of(replay.NothingRuns, replay.Unknown)},
		notKnown:   {of(replay.Unknown)},
	} {
		for _, f := range found {
			expect.Equal(t, flowOf(f), want, f)
		}
	}
}

// A group whose geometries are each refused at another place shows one place, and its values of fields all the same.
func TestGroup_S4_6_shows_one_place_of_many(t *testing.T) {
	values := []dlq.Value{{Path: "/properties/area", Text: `"N/A"`, Letters: 9}}
	for i := range 200 {
		values = append(values, dlq.Value{Path: fmt.Sprintf("/geometry/coordinates/%d", i), Text: "999", Letters: 2})
	}
	values = append(values, dlq.Value{Path: "/properties/use", Text: "7", Letters: 1})
	shown, places := withoutPlaces(values)
	expect.That(t, len(shown) == 3 && shown[0].Text == `"N/A"` && shown[1].Path == "/geometry/coordinates/0" && shown[2].Text == "7" && places == 2*199, "%v, %d", shown, places)
	shown, places = withoutPlaces(slices.Repeat(values[:1], 50))
	expect.That(t, len(shown) == pageValues && places == 0, "%v, %d", shown, places)
}

func TestPage_S4_6_groups_that_wait_come_first(t *testing.T) {
	waits := func(c *header.Control) { c.ErrorMessage = "no such code" }
	d := newDesk(t, letter("a", 0), letter("b", 1), letter("c", 2, waits), replaying("a", "fix-1"), replaying("b", "fix-1"))
	text := shown(d, "/", http.StatusOK)
	first, second := strings.Index(text, "<br>no such code"), strings.Index(text, "<br>ring &lt;n&gt;")
	expect.That(t, first >= 0 && second >= first, "%d %d in %s", first, second, text)
}

func TestPage_S4_6_operations_and_their_events(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	for path, want := range map[string]string{"/replays": "Nobody has replayed", "/audit": "Nothing was done"} {
		says(t, d.get(path), http.StatusOK, want)
	}
	long := strings.Repeat("of-the-cadastre-", 9)
	d.put(replaying("a", "fix-1"), event("a", "discard-1", 0), replaying("b", long), event("b", long, 0))
	for path, want := range map[string]string{
		"/replays": `href="/replays/fix-1"`, "/replays/fix-1": "<dt>Under way</dt><dd>1</dd>", "/audit": `href="/audit?operation=discard-1"`,
		"/audit?operation=discard-1&dead_letter=&since=": `href="/dead-letters/a"`, "/audit?operation=discard-1": "<td>gone for good</td>",
		"/replays?": `data-copy="` + long, "/audit?": `data-copy="` + long,
	} {
		says(t, d.get(path), http.StatusOK, want)
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
		expect.That(t, got.Marked == c.want && len(got.Before)+len(got.Marked)+len(got.After) <= shownValue, "%.40s %s: %q", c.text, c.path, got.Marked)
		whole := got.Before + got.Marked + got.After
		expect.That(t, strings.Contains(c.text, whole) && got.CutBefore == !strings.HasPrefix(c.text, whole), "%.40s %s: cut to %.40s", c.text, c.path, whole)
	}
}

// The first page shows how many records wait where, and which instances have another mapping than the file.
func TestPage_S4_6_what_is_on_its_way(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	page := shown(d, "/", http.StatusOK)
	expect.That(t, strings.Contains(page, "it is unknown which records wait") && !strings.Contains(page, "of features</dd>"), "without retry topics: %s", page)
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(d.writer), topics.Plan(d.configure())))(t)
	d.put(&kgo.Record{Topic: "features", Value: []byte("1"), Timestamp: start.Add(-90 * time.Second)}, &kgo.Record{Topic: "features", Partition: 1, Value: []byte("2"), Timestamp: start.Add(-time.Hour)},
		&kgo.Record{Topic: "features", Partition: 1, Value: []byte("3"), Timestamp: start.Add(-2 * time.Hour)}) // it is not the next one
	page = shown(d, "/", http.StatusOK)
	expect.That(t, strings.Contains(page, ">Lag</dt><dd>3 of features, 3,600 s behind</dd>") && !strings.Contains(page, "<dt>Instances</dt>"), "%s", page)
	says(t, d.get("/dead-letters/a"), http.StatusOK, `<dt>Deployed</dt><dd><span class="soft">no instance runs</span>`)
	flow := read[FlowAnswer](d, "/api/flow").Flow
	expect.That(t, flow.Lag == 3 && flow.LagSince.Equal(start.Add(-time.Hour)) && flow.Mapping != "" && len(flow.Members) == 0, "%+v", flow)
	denied := d.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "features", Err: kerr.TopicAuthorizationFailed, Count: -1})
	says(t, d.get("/"), http.StatusOK, `<dd>3 of features <span class="soft" title="`, "Read topic features", `">since when is not known</span></dd>`)
	denied.Remove()
	consuming(d)
	eventually.Until(t.Context(), t, "the consumer has consumed them", func() (bool, string) {
		page := d.get("/").Body.String()
		return strings.Contains(page, "<dd>0 of features</dd>") && strings.Contains(page, "<dt>Mapping</dt><dd>that of this pipeline file</dd>"), page
	})
	says(t, d.get("/dead-letters/a"), http.StatusOK, "<dt>Deployed</dt><dd>the same mapping</dd>")
	d.stop()
	d.repairs = "repair" // the file is changed, and the instance runs on
	d.open()
	flow = read[FlowAnswer](d, "/api/flow").Flow
	theirs, ours := status.ShortMapping(flow.Members[0].Mapping), status.ShortMapping(flow.Mapping)
	must.That(t, theirs != ours, "%s", ours)
	member := flow.Members[0].Name + " with mapping <code>" + theirs + "</code>: "
	says(t, d.get("/dead-letters/a"), http.StatusOK, `<dd><span class="badge good">passes</span>`, member+`<span class="badge attention">refused</span> geometry_invalid `)
	d.put(&kgo.Record{Topic: "features.control", Key: []byte("mapping/" + flow.Members[0].Mapping)})
	says(t, d.get("/dead-letters/a"), http.StatusOK, member+`<span class="warn">not known: features.control does not have their pipeline file`)
	denied = d.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeGroups}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	says(t, d.get("/dead-letters/a"), http.StatusOK, `<dd><span class="badge good">passes</span>`, "Describe group features")
	denied.Remove()
	v := newFlowView(FlowAnswer{Flow: &replay.Flow{Mapping: "a", Flow: status.Flow{Members: []status.Member{{Name: "x", Mapping: "a"}, {Name: "y", Mapping: "b"}, {Name: "z"}}}}})
	expect.That(t, len(v.Others) == 1 && v.Others[0].Name == "y" && fmt.Sprint(v.Unknown) == "[z]" && newFlowView(FlowAnswer{}) == nil, "%+v", v)
	d.broker.Close()
	page = d.get("/").Body.String()
	expect.That(t, !strings.Contains(page, "of features</dd>") && strings.Contains(page, "unknown"), "without a broker something is known")
}

// The first page shows when waiting records are due, and that they are overdue; for configured instances, which
// breaker is open. A record without a due time, and an instance that does not answer, hide nothing else.
func TestPage_S4_6_what_is_due_and_which_breaker_is_open(t *testing.T) {
	d := newDesk(t)
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(d.writer), topics.Plan(d.configure())))(t)
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# TYPE switchback_build_info gauge\nswitchback_build_info{pipeline=\"parcels\"} 1\n# TYPE switchback_circuit_open gauge\nswitchback_circuit_open{dependency=\"<b>place\"} 1\n",
			"# TYPE switchback_deferred_records gauge\nswitchback_deferred_records{dependency=\"<b>place\"} 1200\n")
	}))
	d.stop()
	d.metrics = []string{strings.TrimPrefix(metrics.URL, "http://"), "127.0.0.1:1"}
	d.open()
	waits := func(topic string, partition int32, due time.Duration) *kgo.Record {
		c := header.Control{Attempt: 1, MaxAttempts: 5, Due: start.Add(due), FailedAt: start, SourceTimestamp: start, ErrorClass: "row", ErrorCode: "timeout", ErrorStage: "gate", ErrorMessage: "no answer", Source: header.Position{Topic: "features"}, HasSource: true}
		return &kgo.Record{Topic: topic, Partition: partition, Headers: c.AppendTo(nil), Value: []byte("1")}
	}
	d.put(waits("features.retry-2s", 0, -5*time.Minute), waits("features.retry-2s", 0, time.Hour), waits("features.retry-2s", 1, time.Hour), waits("features.retry-8s", 0, 7*time.Second),
		&kgo.Record{Topic: "features.retry-60s", Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: header.KeyDue, Value: []byte("<b>soon")}}})
	page := shown(d, "/", http.StatusOK)
	for _, want := range []string{
		`3 <span class="soft">features.retry-2s</span> <span class="warn">overdue for 5 min</span>`, `1 <span class="soft">features.retry-8s</span> <span class="soft">next due in 7 s</span>`,
		`1 <span class="soft">features.retry-60s</span></span>`, `&lt;b&gt;place <span class="badge attention">open</span> 1,200 deferred`, `127.0.0.1:1 does not answer`,
	} {
		expect.That(t, strings.Contains(page, want), "no %s in %s", want, page)
	}
	metrics.Close() // the instance goes away
	page = shown(d, "/", http.StatusOK)
	expect.That(t, !strings.Contains(page, "1,200 deferred") && strings.Contains(page, "overdue for 5 min"), "%v", page)
}

// The trend of a group counts each dead letter once, from the first death until now.
func TestTrend_S4_6_counts_each_dead_letter_once(t *testing.T) {
	d := newDesk(t, letter("a", 0), letter("b", 1), letter("c", 1), letter("d", 1800), letter("now", 3600), letter("other", 60, func(c *header.Control) { c.ErrorCode = "timeout" }))
	for _, g := range read[GroupsAnswer](d, "/api/groups").Groups {
		got := d.console.trendOf(t.Context(), g)
		want := map[string]string{"geometry_invalid": "[{0 0 32 3} {110 22 10 1} {230 22 10 1}]", "timeout": "[{0 0 32 1}]"}[g.Code]
		expect.That(t, fmt.Sprint(got.Bars) == want, "%s: %+v", g.Code, got)
		page := shown(d, "/?group="+g.ID, http.StatusOK)
		expect.That(t, strings.Count(page, "<rect") == len(got.Bars), "%v", page)
	}
	d.console.letters.Close()
	got := d.console.trendOf(t.Context(), dlq.GroupJSON{ID: "x", FirstSeen: "2026-11-03T04:00:00Z"})
	expect.That(t, got == nil, "without an index: %+v", got)
}

func TestRefresher_S4_6_one_refresh_serves_all_readers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refreshes := 0
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(context.Context) (dlqindex.Synced, error) {
			refreshes++
			time.Sleep(2 * time.Second)
			return dlqindex.Synced{Offsets: map[string]int64{"dlq": int64(refreshes)}}, nil
		}}
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				f, err := r.fresh(t.Context())
				expect.That(t, err == nil && f.Offsets["dlq"] == 1 && f.Stale == "" && f.AgeSeconds == 2, "%+v, %v", f, err)
			})
		}
		readers.Wait()
		time.Sleep(rest)
		f, err := r.fresh(t.Context())
		expect.That(t, err == nil && f.Offsets["dlq"] == 2 && refreshes == 2, "%+v, %v after %d refreshes", f, err, refreshes)
	})
}

// A slow refresh delays no answer beyond the patience, and does not end with the reader that started it.
func TestRefresher_S4_6_answers_from_what_it_has(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := time.Second
		broken := errors.New("no broker")
		var outcome error
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(ctx context.Context) (dlqindex.Synced, error) {
			select {
			case <-time.After(took):
			case <-ctx.Done():
				t.Error("a refresh was ended")
			}
			return dlqindex.Synced{Offsets: map[string]int64{"dlq": 7}}, outcome
		}}
		first, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.fresh(first)
		expect.That(t, errors.Is(err, context.Canceled), "a reader that went away: %v", err)
		r.wait()
		time.Sleep(rest)
		took, outcome = time.Minute, broken
		f, err := r.fresh(t.Context())
		expect.That(t, err == nil && f.Offsets["dlq"] == 7 && strings.Contains(f.Stale, "are being read since") && f.AgeSeconds == 5, "while a refresh runs: %+v, %v", f, err)
		r.wait()
		f, err = r.fresh(t.Context())
		expect.That(t, err == nil && strings.Contains(f.Stale, "no broker") && f.AgeSeconds >= 60, "after it failed: %+v, %v", f, err)
		r.wait()
	})
}

func TestRefresher_S4_6_an_index_that_is_being_filled_is_no_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(context.Context) (dlqindex.Synced, error) {
			time.Sleep(time.Minute)
			return dlqindex.Synced{}, nil
		}}
		f, err := r.fresh(t.Context())
		expect.That(t, err != nil && strings.Contains(err.Error(), "being filled"), "%+v, %v", f, err)
		r.wait()
		_, err = r.fresh(t.Context())
		expect.That(t, err == nil, "%v", err)
		r.wait()
	})
}

// Without a broker the index still answers, with the age of its data; questions that need a broker are refused with
// advice.
func TestConsole_S4_6_while_no_broker_answers(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	read[StatsAnswer](d, "/api/stats")
	d.broker.Close()
	d.now = start.Add(90 * time.Second)
	for path, fresh := range map[string]Freshness{
		"/api/stats":        read[StatsAnswer](d, "/api/stats").Fresh,
		"/api/groups":       read[GroupsAnswer](d, "/api/groups").Fresh,
		"/api/dead-letters": read[LettersAnswer](d, "/api/dead-letters").Fresh,
		"/api/map":          read[MapAnswer](d, "/api/map").Fresh,
	} {
		expect.That(t, fresh.AgeSeconds == 90 && strings.Contains(fresh.Stale, "cannot reach Kafka"), "%s: %+v", path, fresh)
	}
	got := read[StatsAnswer](d, "/api/stats").Stats
	expect.That(t, got.Letters == 1 && got.Retention.Milliseconds == nil, "%+v", got)
	for _, path := range []string{"/api/dead-letters/a", "/api/dead-letters/a/value", "/api/replays", "/api/replays/fix", "/api/audit"} {
		said := d.refused(d.get(path), http.StatusServiceUnavailable)
		expect.That(t, strings.Contains(said.Message, "is the broker running?") && said.Exit == cli.ExitRuntime && said.Code == "unavailable", "%s: %+v", path, said)
	}
}
