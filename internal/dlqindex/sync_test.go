package dlqindex

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/lettermodel"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A random history, indexed piece by piece, is at each step what the in-memory model of the topics
// says: for every kind of filter, and for groups.
func TestSync_S4_6_a_random_history_is_what_the_topics_say(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		random := rand.New(rand.NewPCG(7, 46))
		for step := range 12 {
			w.put(w.history(random, 1+random.IntN(40))...)
			w.sync()
			if step%4 == 3 {
				w.sound()
				w.agrees()
			}
		}
		again := w.sync()
		expect.That(t, again.Letters == 0 && again.States == 0 && again.RebuildReason == "", "nothing is new, and it took in %+v", again)
	})
}

// history is some records that may stand in the topics.
func (w *world) history(random *rand.Rand, n int) []*kgo.Record {
	codes := []string{"geometry_invalid", "timeout", "wrong_type"}
	statuses := deadletters.Statuses()
	var out []*kgo.Record
	for range n {
		k := random.IntN(30)
		id, p := fmt.Sprintf("letter-%d", k), int32(k%3)
		if k < 6 {
			id = fmt.Sprintf("dlq-%d-%d", p, 1000+k) // other software's
		}
		kind := random.IntN(10)
		if kind < 5 && !w.died[id] {
			kind = 9 // a letter is there before its state
		}
		switch kind {
		case 0:
			out = append(out, tombstone(p, id))
		case 1:
			out = append(out, decided(p, id, statuses[random.IntN(len(statuses))], int64(random.IntN(40))))
		case 2, 3:
			out = append(out, state(p, id, statuses[random.IntN(len(statuses))], random.IntN(3)))
		case 4:
			out = append(out, &kgo.Record{Topic: "status", Partition: p, Key: []byte(id), Value: []byte(`{"id":"vaporised"}`)})
		case 5:
			w.sent++
			out = append(out, &kgo.Record{Topic: "dlq", Partition: p, Value: []byte("of other \"software\""), Timestamp: at.Add(time.Duration(w.sent) * time.Minute)})
		case 6:
			w.died[id] = true
			out = append(out, w.theirs(p, id, fmt.Sprintf("r%d", 1+random.IntN(2)), 1+random.IntN(4)))
		default:
			w.died[id] = true
			out = append(out, w.dead(p, id, func(c *header.Control) {
				c.ErrorCode = codes[random.IntN(len(codes))]
				c.ErrorMessage = fmt.Sprintf("%s in %s", c.ErrorCode, []string{"area", "name"}[random.IntN(2)])
				c.ReplayCount = random.IntN(2)
				c.Pipeline = []string{"parcels", "roads"}[random.IntN(2)]
				c.ErrorRequest = []*classify.Request{nil, {Step: "place", Method: "GET", URL: "https://h/a?b&<c>\x00\u2028", TookMS: 3}}[random.IntN(2)]
				c.ErrorResponse = []*classify.Response{nil, {Status: 503, Body: "<p>\"down\""}, {SQLState: "58030"}}[random.IntN(3)]
				c.BBox = []string{"", "1,1,2,2", "178,-20,-178,-10", "9.5,47,9.6,47.2"}[random.IntN(4)]
			}))
		}
	}
	return out
}

func filters() map[string]deadletters.Filter {
	one, other := "one", `two "quoted"`
	box := func(text string) *deadletters.BBox {
		b, err := deadletters.ParseBBox(text)
		if err != nil {
			panic(err)
		}
		return &b
	}
	return map[string]deadletters.Filter{
		"all": {}, "id": {IDs: []string{"letter-3", "letter-4", "nobody"}}, "code": {Codes: []string{"timeout"}},
		"status": {Statuses: []deadletters.Status{deadletters.Pending, deadletters.Replaying}}, "feature": {Features: []string{"F letter-7"}},
		"group": {Groups: []string{deadletters.Fingerprint("timeout", "gate", "timeout in area")}}, "pipeline": {Pipelines: []string{"roads"}},
		"run": {Runs: []string{"run-1"}}, "header": {Headers: []deadletters.HeaderMatch{{Name: "tag"}}},
		"header value":  {Headers: []deadletters.HeaderMatch{{Name: "tag", Value: &other}, {Name: "absent", Value: &one}}},
		"no header":     {Headers: []deadletters.HeaderMatch{{Name: "tag", Value: new(string)}}},
		"bbox":          {BBox: box("1.5,1.5,10,50")},
		"bbox over 180": {BBox: box("179,-15,-179,0")},
		"bbox west of":  {BBox: box("177,-15,179,0")},
		"text":          {Text: `"area":1`}, "text of the message": {Text: "in name"}, "text of the key": {Text: "key letter-1"}, "text of no JSON": {Text: `other "s`},
		"text none": {Text: "Area"}, "since": {Since: at.Add(30 * time.Minute)}, "until": {Until: at.Add(30*time.Minute + 1)},
		"several": {Codes: []string{"timeout", "wrong_type"}, Since: at.Add(20 * time.Minute), Pipelines: []string{"parcels"}, Text: "F dead letter"},
	}
}

// agrees compares the index with the topics as the in-memory model reads them: letters in both orders, page by page too,
// their number, and groups.
func (w *world) agrees() {
	w.t.Helper()
	model := must.Get(lettermodel.Load(w.t.Context(), w.cl, "dlq", "status"))(w.t)
	for name, f := range filters() {
		want := model.Select(f)
		groups := must.Get(w.dlq().Groups(w.t.Context(), Query{Filter: f}))(w.t)
		if wanted := grouped(want); !reflect.DeepEqual(groups, wanted) && len(groups)+len(wanted) > 0 {
			w.t.Errorf("%s: groups %s", name, difference(each(groups), each(wanted)))
		}
		for _, newest := range []bool{false, true} {
			q := Query{Filter: f, Newest: newest}
			if got := w.letters(q); !slices.Equal(told(got), told(want)) {
				w.t.Errorf("%s, newest %v: %s", name, newest, difference(told(got), told(want)))
			}
			if got := w.pages(q, len(want)); !slices.Equal(told(got), told(want)) {
				w.t.Errorf("%s, newest %v, in pages: %s", name, newest, difference(told(got), told(want)))
			}
			slices.Reverse(want)
		}
	}
}

func grouped(letters []deadletters.Letter) []deadletters.Group {
	var g deadletters.Grouping
	for i := range letters {
		g.Add(&letters[i])
	}
	return g.Groups()
}

// pages reads the letters of a query a few at a time.
func (w *world) pages(q Query, total int) (all []deadletters.Letter) {
	w.t.Helper()
	q.Limit = 7
	n, err := w.dlq().Count(w.t.Context(), q)
	expect.That(w.t, err == nil && n == total, "%d dead letters are counted of %d, %v", n, total, err)
	var after *Cursor
	for {
		page := must.Get(w.dlq().Page(w.t.Context(), q, after))(w.t)
		expect.That(w.t, (after != nil || page.Total == total) && len(page.Letters) <= q.Limit && (page.Next == nil || len(page.Letters) >= q.Limit),
			"a page of %d of %d, want %d in all", len(page.Letters), page.Total, total)
		all = append(all, page.Letters...)
		if page.Next == nil {
			return all
		}
		next, err := ParseCursor(page.Next.String())
		must.That(w.t, err == nil && next == *page.Next, "cursor %s is read as %s, %v", page.Next, next, err)
		after = &next
	}
}

func each[T any](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprintf("%+v", v))
	}
	return out
}

// difference is the first line in which two lists differ.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		a, b := "nothing", "nothing"
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Sprintf("%d of %d, want %d; the first that differs:\n got %s\nwant %s", i, len(got), len(want), a, b)
		}
	}
	return "no difference in words"
}

// told is what a letter says, in words that can be compared.
func told(letters []deadletters.Letter) []string {
	var out []string
	for _, l := range letters {
		out = append(out, fmt.Sprintf("%s %s %s %q %s deaths=%d at=%s %s source=%v replays=%d state=%s %d %q %s hash=%s problems=%d asked=%s answered=%s",
			l.ID, l.Dialect, l.DLQ, l.Key, l.Status, l.Deaths, l.At.Format(timeLayout), l.Group, l.Control.Source, l.Replays(),
			l.State.By, l.State.ReprocessCount, l.State.Reason, l.State.At.Format(timeLayout), l.ContentHash, len(l.Problems),
			requestText(l.Control.ErrorRequest), responseText(l.Control.ErrorResponse)))
	}
	return out
}

// Whatever happens between two transactions, the counters are what a recount gives: syncs end in the middle, retention
// deletes records, and letters expire.
func TestSync_S4_6_counters_equal_a_recount_after_crashes_and_retention(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		random := rand.New(rand.NewPCG(28, 165))
		gone, expired := 0, 0
		for range 16 {
			w.put(w.history(random, 1+random.IntN(60))...)
			if random.IntN(3) == 0 {
				w.cut(int32(random.IntN(3)), int64(random.IntN(w.sent/3+1)))
			}
			resolvedBefore := time.Time{}
			if random.IntN(3) == 0 {
				resolvedBefore = at.Add(time.Duration(random.IntN(5)) * time.Hour)
			}
			w.index.options.Now = func() time.Time { return resolvedBefore }
			for left := random.IntN(8); ; left += 4 {
				ctx, cancel := context.WithCancel(t.Context())
				w.index.options.Progress = func(Progress) {
					if left--; left < 0 {
						cancel()
					}
				}
				done, err := w.index.Sync(ctx)
				cancel()
				gone, expired = gone+done.Gone, expired+done.Expired
				w.recounted()
				if err == nil {
					break
				}
			}
		}
		expect.That(t, gone != 0 && expired != 0, "%d were gone, %d expired: the history proves little", gone, expired)
	})
}

// recounted fails unless the counters are what a recount of the rows gives. Both may be behind the topics.
func (w *world) recounted() {
	w.t.Helper()
	found := must.Get(w.index.Check(w.t.Context()))(w.t)
	for _, fault := range found.Faults {
		expect.That(w.t, !strings.HasPrefix(fault, "count:"), "%v", fault)
	}
}

func TestSync_S4_6_several_at_once_take_each_record_in_once(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		random := rand.New(rand.NewPCG(1, 2))
		var group sync.WaitGroup
		indexes := []*Index{w.index, w.open(place), w.open(place)}
		for range 3 {
			w.put(w.history(random, 400)...)
			for _, x := range indexes {
				group.Go(func() {
					_, err := x.Sync(t.Context())
					expect.That(t, err == nil, "%v", err)
				})
			}
			group.Wait()
			w.sound()
		}
		w.agrees()
	})
}

func TestSync_S4_6_letters_that_retention_took_are_marked(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "a", nil), w.dead(0, "b", nil), w.dead(0, "c", nil), w.dead(1, "d", nil))
		w.put(state(0, "b", deadletters.Discarded, 0))
		w.sync()
		w.cut(0, 2)
		done := w.sync()
		expect.That(t, done.Gone == 2, "%+v, want 2 gone", done)
		w.sound()
		got := ids(w.letters(Query{}))
		expect.That(t, got == "c d", "there: %s", got)
		got = ids(w.letters(Query{Gone: true}))
		expect.That(t, got == "a b", "gone: %s", got)
		if w.letter("a").Gone.IsZero() || !w.letter("c").Gone.IsZero() {
			t.Errorf("a gone %v, c gone %v", w.letter("a").Gone, w.letter("c").Gone)
		}
		stats, err := w.dlq().Stats(t.Context())
		expect.That(t, err == nil && stats.Letters == 2 && stats.Lost == 1 && stats.Oldest.ID == "c", "%+v, %v", stats, err)

		// It is dead once more: there again. A removed state ends the row of a letter that is gone,
		// and makes one that is there pending.
		w.put(w.dead(0, "a", nil), state(1, "d", deadletters.Escalated, 0))
		w.sync()
		w.put(tombstone(0, "b"), tombstone(1, "d"))
		w.sync()
		w.sound()
		a := w.letter("a")
		expect.That(t, a.Gone.IsZero() && a.Deaths == 2, "a is %+v", a)
		d := w.letter("d")
		expect.That(t, d.Status == deadletters.Pending, "d is %s", d.Status)
		w.absent("b")
	})
}

func TestSync_S4_6_a_topic_made_anew_is_read_from_its_start(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "old", nil), w.dead(0, "older", nil))
		w.sync()
		must.Get(w.admin.DeleteTopics(t.Context(), "dlq"))(t)
		must.Get(w.admin.CreateTopics(t.Context(), 3, 1, nil, "dlq"))(t)
		w.cl = w.connect() // the old client knows the old topic
		w.index.client = w.cl
		w.put(w.dead(0, "new", nil), w.dead(0, "newer", nil), w.dead(0, "newest", nil))
		done := w.sync()
		expect.That(t, strings.Contains(done.RebuildReason, "another one than before") && done.Letters == 3, "%+v", done)
		expect.Equal(t, ids(w.letters(Query{})), "new newer newest", "dead letters")
		w.sound()
	})
}

func ids(letters []deadletters.Letter) string {
	slices.SortFunc(letters, func(a, b deadletters.Letter) int { return cmp.Compare(a.ID, b.ID) })
	var out []string
	for _, l := range letters {
		out = append(out, l.ID)
	}
	return strings.Join(out, " ")
}
