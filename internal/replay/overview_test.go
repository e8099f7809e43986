package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func (w *world) look(o *Overview) Look {
	w.t.Helper()
	return must.Get(o.Look(w.ctx()))(w.t)
}

// ends writes what the consumer says of a replayed dead letter.
func (w *world) ends(id string, s deadletters.Status) {
	w.t.Helper()
	state := w.states()[id]
	partition := state.DLQ.Partition
	state.Status, state.By, state.Operation = s, "c", ""
	state.DLQ.Topic, state.DLQ.Partition, state.DLQ.Offset = "", 0, 0
	w.die(state.Record("features.dlq-status", partition))
}

// S4-10: all replays are counted from one reading, and then from what comes. What an operator does counts for no replay, and a replay
// without anything under way is finished.
func TestOverview_S4_10_countsEachReplay(t *testing.T) {
	w := parallel(t)
	o := w.service().Overview()
	look := w.look(o)
	expect.That(t, len(look.Replays) == 0 && look.Finished == 0 && len(look.Obstacles) == 1, "before any: %+v", look)
	w.dieMany(6)
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{Limit: 4}))
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{}))
	look = w.look(o)
	must.That(t, len(look.Replays) == 2 && look.Replays[0].UnderWay+look.Replays[1].UnderWay == 6, "%+v", look.Replays)
	expect.That(t, w.look(w.service().Overview()).Replays[0].Rate == nil, "a first look has no rate")
	var first []string
	for id, s := range w.states() {
		if s.ReplayID == "r1" {
			first = append(first, id)
		}
	}
	w.ends(first[0], deadletters.Reprocessed)
	w.ends(first[1], deadletters.Escalated)
	w.ends(first[2], deadletters.Superseded)
	look = w.look(o)
	r := look.Replays[0]
	if r.ReplayID != "r1" {
		r = look.Replays[1]
	}
	expect.That(t, r.UnderWay == 1 && r.Reprocessed == 1 && r.FailedAgain == 1 && r.Escalated == 1 && r.Closed == 1 && r.Since.Equal(start), "%+v", r)
	w.ends(first[3], deadletters.Pending)
	w.change(Discard, deadletters.Filter{IDs: []string{first[3]}})
	look = w.look(o)
	expect.That(t, len(look.Replays) == 1 && look.Replays[0].ReplayID == "r2" && look.Finished == 1, "%+v", look)

	admin := kadm.NewClient(w.writer)
	must.Get(admin.DeleteTopics(w.ctx(), "features.dlq-status"))(t)
	must.Get(admin.CreateTopics(w.ctx(), 3, 1, nil, "features.dlq-status"))(t)
	eventually.Until(w.ctx(), t, "a count from the start of the new topic", func() (bool, string) {
		look, err := o.Look(w.ctx()) // it fails until the client has new metadata
		return err == nil && len(look.Replays) == 0 && look.Finished == 0, fmt.Sprint(look, err)
	})
}

// fetched notes from which offset each later read of a topic begins, by partition. The function that it returns gives the lowest ones since
// its last call.
func (w *world) fetched(topic string) func() map[int32]int64 {
	w.t.Helper()
	var mu sync.Mutex
	lowest, id := map[int32]int64{}, must.Get(kadm.NewClient(w.writer).ListTopics(w.ctx(), topic))(w.t)[topic].ID
	w.broker.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		r := request.(*kmsg.FetchRequest)
		for _, t := range r.Topics {
			for _, p := range t.Partitions { // a request of the test's own readers, which may still be under way, has another bound for one partition than for all
				if at, asked := lowest[p.Partition]; t.TopicID == id && r.MaxBytes == p.PartitionMaxBytes && (!asked || p.FetchOffset < at) {
					lowest[p.Partition] = p.FetchOffset
				}
			}
		}
		return nil, nil, false
	})
	return func() map[int32]int64 {
		mu.Lock()
		defer mu.Unlock()
		defer func() { lowest = map[int32]int64{} }()
		return lowest
	}
}

// How one replay is comes from what was read before and from what came since. A permission that is lost in between is named, and a topic
// that is re-created is read from its start, however long it is by then.
func TestOverview_S4_8_aStatusReadsWhatIsNew(t *testing.T) {
	w := parallel(t)
	w.dieMany(6)
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	o, written := s.Overview(), w.states()
	ask := func() (states.Report, error) {
		r, _, err := o.Replay(w.ctx(), "r1", states.OutcomeQuery{})
		return r, err
	}
	status := func() states.Report { return must.Get(ask())(t) }
	expect.That(t, status().UnderWay == 6 && status().Job != nil, "%+v", status())
	fetched, ends := w.fetched("features.dlq-status"), must.Get(s.store.StatusSpans(w.ctx()))(t)
	expect.That(t, status().UnderWay == 6 && len(fetched()) == 0, "nothing is new, and something is read")
	w.ends("letter-0", deadletters.Reprocessed)
	r, from := status(), fetched()
	expect.That(t, r.UnderWay == 5 && r.Reprocessed == 1 && len(from) == 1, "%+v, read from %v", r, from)
	for p, at := range from {
		expect.Equal(t, at, ends[p].End, "read again of partition", p)
	}

	w.ends("letter-1", deadletters.Pending)
	denied := w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "features.dlq-status", Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := ask()
	expect.That(t, err != nil && strings.Contains(err.Error(), "Read topic features.dlq-status"), "%v", err)
	denied.Remove()
	r = status()
	expect.That(t, r.UnderWay == 4 && r.FailedAgain == 1, "%+v", r)

	admin := kadm.NewClient(w.writer)
	must.Get(admin.DeleteTopics(w.ctx(), "features.dlq-status"))(t)
	must.Get(admin.CreateTopics(w.ctx(), 3, 1, nil, "features.dlq-status"))(t)
	w.writer = must.Get(kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner())))(t) // it knows no former id
	t.Cleanup(w.writer.Close)
	for range 5 { // longer than the former one
		for _, state := range written {
			partition := state.DLQ.Partition
			state.Status, state.DLQ = deadletters.Reprocessed, header.Position{}
			w.die(state.Record("features.dlq-status", partition))
		}
	}
	eventually.Until(w.ctx(), t, "a status from the start of the new topic", func() (bool, string) {
		r, err := ask() // it fails until the client has new metadata
		return err == nil && r.Attempted == 6 && r.UnderWay == 0 && r.FailedAgain == 0, fmt.Sprintf("%+v, %v", r, err)
	})
}

// Each letter of a replay is listed once with what became of it, page by page, also while states change; the results are those of the report.
func TestOverview_S4_8_listsWhatBecameOfEachLetter(t *testing.T) {
	w := parallel(t)
	w.dieMany(7)
	w.die(again(letter(0, "letter-0", fmt.Sprintf(square, "letter-0")), "twin", 7))
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	for id, to := range map[string]deadletters.Status{
		"letter-1": deadletters.Reprocessed, "letter-2": deadletters.Pending, "letter-3": deadletters.Superseded, "letter-4": deadletters.Pending, "letter-5": deadletters.Pending,
	} {
		w.ends(id, to)
	}
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-4"}})
	w.execute(s, w.plan(s, deadletters.Filter{IDs: []string{"letter-5"}}))
	o, got := s.Overview(), map[string]states.LetterOutcome{}
	pages := func(q states.OutcomeQuery, between func()) (ids []string, total int) {
		for {
			_, page, err := o.Replay(w.ctx(), "r1", q)
			must.Do(t, err)
			for _, l := range page.Letters {
				ids, got[l.ID] = append(ids, l.ID), l
			}
			if page.Next == "" {
				return ids, page.Total
			}
			between()
			q.After = page.Next
		}
	}
	ids, total := pages(states.OutcomeQuery{Limit: 2}, func() {})
	expect.Equal(t, fmt.Sprint(ids, total), "[letter-0 letter-1 letter-2 letter-3 letter-4 letter-6 twin] 7")
	for id, want := range map[string]states.LetterOutcome{
		"letter-1": {Result: states.LetterReprocessed}, "letter-2": {Result: states.LetterFailedAgain, Why: "fixed"}, "letter-3": {Result: states.LetterSkipped, Why: "fixed"},
		"letter-4": {Result: states.LetterFailedAgain, Why: "discarded by an operator since: because"}, "letter-6": {Result: states.LetterWaiting},
	} {
		want.ID, want.At = id, got[id].At
		expect.Equal(t, got[id], want)
	}
	twins := []states.LetterResult{got["letter-0"].Result, got["twin"].Result}
	slices.Sort(twins)
	expect.That(t, twins[0] == states.LetterSkipped && twins[1] == states.LetterWaiting && strings.HasPrefix(got["letter-0"].Why+got["twin"].Why, "same content as "), "%+v", got)
	results, _, err := o.Replay(w.ctx(), "r1", states.OutcomeQuery{})
	must.Do(t, err)
	for _, result := range states.LetterResults() {
		ids, total := pages(states.OutcomeQuery{Result: result, Limit: 1}, func() {})
		expect.That(t, total == len(ids) && total == results.Results()[result], "%s: %v, %d in all", result, ids, total)
	}
	ids, _ = pages(states.OutcomeQuery{Limit: 3}, sync.OnceFunc(func() {
		w.ends("letter-6", deadletters.Reprocessed)
		for _, id := range []string{"letter-1x", "letter-3x", "zz", "zz"} {
			w.die(deadletters.State{ID: id, Status: deadletters.Replaying, ReplayID: "r1", At: start, By: "ana"}.Record("features.dlq-status", 0))
		}
	}))
	expect.That(t, fmt.Sprint(ids) == "[letter-0 letter-1 letter-2 letter-3 letter-3x letter-4 letter-6 twin zz]" && got["letter-6"].Result == states.LetterReprocessed, "%v, %+v", ids, got)
	ids, total = pages(states.OutcomeQuery{Limit: 3}, func() {})
	expect.Equal(t, fmt.Sprint(ids, total), "[letter-0 letter-1 letter-1x letter-2 letter-3 letter-3x letter-4 letter-6 twin zz] 10")
	w.die(deadletters.State{ID: "letter-3", Status: deadletters.Replaying, ReplayID: "r1", At: start, By: "ana"}.Record("features.dlq-status", 0))
	pages(states.OutcomeQuery{Limit: 3}, func() {})
	expect.Equal(t, got["letter-3"], states.LetterOutcome{ID: "letter-3", Result: states.LetterWaiting, At: start}, "taken once more by the same replay")
	_, _, err = o.Replay(w.ctx(), "nobody", states.OutcomeQuery{Limit: 1})
	expect.That(t, errors.Is(err, states.ErrNoReplay), "%v", err)
}

// The time left is that at the pace since the look before.
func TestOverview_S4_10_pace(t *testing.T) {
	t.Parallel()
	before := []states.Underway{{ReplayID: "r", Counts: states.Counts{Reprocessed: 10, UnderWay: 90}}}
	for _, c := range []struct {
		now  states.Underway
		rate float64
		left float64 // negative: not known
	}{
		{states.Underway{ReplayID: "r", Counts: states.Counts{Reprocessed: 25, FailedAgain: 5, UnderWay: 70}}, 2, 35},
		{states.Underway{ReplayID: "r", Counts: states.Counts{Reprocessed: 10, UnderWay: 90}}, 0, -1},
		{states.Underway{ReplayID: "r", Counts: states.Counts{Reprocessed: 5, UnderWay: 95}}, 0, -1}, // some went to a later replay
		{states.Underway{ReplayID: "new", Counts: states.Counts{Closed: 20, UnderWay: 10}, Theirs: 6}, 2, 2},
	} {
		c.now.Pace(before, 10*time.Second)
		expect.That(t, *c.now.Rate == c.rate && (c.now.Left == nil) == (c.left < 0) && (c.now.Left == nil || *c.now.Left == c.left), "%+v", c.now)
	}
	first := states.Underway{ReplayID: "r", Counts: states.Counts{UnderWay: 1}}
	first.Pace(nil, 0)
	expect.That(t, first.Rate == nil, "no time has passed: %+v", first)
}

// Who changes dead letters at present is named, and that he may have died.
func TestOverview_S4_10_namesWhoIsAtWork(t *testing.T) {
	w := parallel(t)
	holder := w.service()
	lease := holder.jobs.NewLease(operation.Operation{ID: "replay-1", By: "jo", Reason: "the fix", Word: "replay"})
	must.Do(t, lease.Take(w.ctx()))
	s := w.service()
	look := w.look(s.Overview())
	expect.That(t, strings.HasPrefix(look.AtWork, "jo on ") && !strings.Contains(look.AtWork, "no sign of life"), "at work: %q", look.AtWork)
	s.now = func() time.Time { return time.Now().Add(time.Hour) }
	look = w.look(s.Overview())
	expect.That(t, strings.Contains(look.AtWork, "no sign of life since"), "at work: %q", look.AtWork)
	lease.Release(w.ctx())
	expect.Equal(t, w.look(s.Overview()).AtWork, "", "at work")
}

// Before the first change of a DLQ without a pipeline there is no status topic: nothing is under way.
func TestOverview_S4_10_beforeTheFirstChangeWithoutAPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kfake.SeedTopics(3, dlt))
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: dlt, Brokers: w.broker.ListenAddrs()}, nil, nil))(t)
	w.cfg, w.alone = cfg, true
	o := w.service().Overview()
	for range 2 {
		look := w.look(o)
		expect.That(t, len(look.Replays) == 0 && look.Finished == 0 && look.AtWork == "", "%+v", look)
	}
}

// Who puts dead letters back is told first when nobody is there to take them, and when the pipeline is paused.
func TestObstacles_S4_8(t *testing.T) {
	w := parallel(t)
	s := w.service()
	want := func(parts ...string) {
		t.Helper()
		found := s.Obstacles(w.ctx())
		must.That(t, len(found) == len(parts), "found %q, want %q", found, parts)
		for i, part := range parts {
			expect.That(t, strings.Contains(found[i].Text, part), "found %q, want %q", found[i], part)
		}
	}
	want("no instance of features is running")
	paused := must.Get(control.PipelineRecord(w.cfg.Topics.Control, control.State{
		Phase: control.Paused, Code: control.CodeOperator, Reason: "the registry is down", By: "bo", At: time.Unix(1, 0).UTC(),
	}))(t)
	must.Do(t, w.writer.ProduceSync(w.ctx(), paused).FirstErr())
	want("no instance of features is running", "by bo: the registry is down")

	member := must.Get(kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.ConsumerGroup(w.cfg.Source.Group), kgo.ConsumeTopics(w.cfg.Source.Topic)))(t)
	t.Cleanup(member.Close)
	go member.PollFetches(w.ctx())
	eventually.Until(w.ctx(), t, "the member is in the group", func() (bool, string) {
		found := s.Obstacles(w.ctx())
		return len(found) == 1, fmt.Sprint(found)
	})
	want("features is paused")

	w.broker.ControlKey(int16(kmsg.DescribeGroups), func(request kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		resp := request.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, group := range request.(*kmsg.DescribeGroupsRequest).Groups {
			resp.Groups = append(resp.Groups, kmsg.DescribeGroupsResponseGroup{Group: group, ErrorCode: kerr.GroupAuthorizationFailed.Code})
		}
		return resp, nil, true
	})
	want("not known whether an instance of features is running: ", "features is paused")
}
