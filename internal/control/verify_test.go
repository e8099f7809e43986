package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// verifyOrders compares the chain of orders with its head.
func verifyOrders(t *testing.T, connection []kgo.Opt, cfg *config.Config) (r audit.Report) {
	t.Helper()
	client := must.Get(kgo.NewClient(connection...))(t)
	defer client.Close()
	reports, err := audit.Verify(t.Context(), client, cfg.Topics.Audit, nil, func(ctx context.Context) (audit.Heads, error) {
		view, err := Read(ctx, connection, cfg.Topics.Control)
		return audit.Heads{audit.Orders: view.ChainHeads()}, err
	})
	must.That(t, err == nil && len(reports) <= 1, "%+v, %v", reports, err)
	if len(reports) == 1 {
		r = reports[0]
	}
	return r
}

func order(n int) State {
	return State{Phase: Paused, Code: CodeOperator, Reason: fmt.Sprint(n), By: "ana", At: noon.Add(time.Duration(n) * time.Second)}
}

// Concurrent orders form one chain: one is written at a time, and an overtaken writer starts again.
func TestVerify_S0_11_ordersGivenSideBySideAreOneChain(t *testing.T) {
	kafka, cfg := cluster(t), configuration(t, "")
	const writers, each = 3, 2
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := range each {
				_, err := NewWriter(cfg, kafka).Pipeline(t.Context(), order(n*each+i))
				expect.Do(t, err)
			}
		})
	}
	all.Wait()
	r := verifyOrders(t, kafka, cfg)
	expect.That(t, r.Entries == writers*each && r.First == 1 && r.Head.Seq == writers*each && r.Fault+r.Gone == "", "got %+v", r)
}

// A consumer's open transaction hides records that were committed after its first record. Verification waits for it.
func TestVerify_S0_11_waitsForATransactionThatIsOpen(t *testing.T) {
	kafka, cfg := cluster(t), configuration(t, "")
	consumer := must.Get(kgo.NewClient(append(append([]kgo.Opt{}, kafka...), kgo.TransactionalID("consumer"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...))(t)
	defer consumer.Close()
	must.Do(t, consumer.BeginTransaction())
	must.Do(t, consumer.ProduceSync(t.Context(), &kgo.Record{Topic: cfg.Topics.Audit, Partition: chainPartition, Value: []byte(`{}`)}).FirstErr())
	must.Get(NewWriter(cfg, kafka).Pipeline(t.Context(), order(1)))(t)
	ended := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { ended <- consumer.EndTransaction(t.Context(), kgo.TryCommit) })
	r := verifyOrders(t, kafka, cfg)
	expect.That(t, r.Entries == 1 && r.Head != nil && r.Fault == "", "got %+v", r)
	must.Do(t, <-ended)
}

// Processes that create a key concurrently sign with the same key, and a later process finds it.
func TestKeys_S4_6_allAgreeOnTheFirst(t *testing.T) {
	kafka := cluster(t)
	var wait sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wait.Go(func() {
			keys, err := Keys(t.Context(), kafka, "parcels.control", noon)
			if err != nil || len(keys) == 0 {
				t.Errorf("%d keys, %v", len(keys), err)
				return
			}
			got[i] = keys[0].ID()
		})
	}
	wait.Wait()
	again := must.Get(Keys(t.Context(), kafka, "parcels.control", noon))(t)
	for _, id := range got {
		expect.That(t, id == again[0].ID(), "one signs with %s, another one with %s", id, again[0].ID())
	}
}

func TestView_S4_6_takesKeysInTheOrderOfTheTopic(t *testing.T) {
	first, second := proof.Random(), proof.Random()
	v := newView()
	for i, k := range []proof.Key{first, second, first} { // written again, with a higher offset
		r := must.Get(keyRecord("c", k, noon))(t)
		r.Offset = int64(i)
		must.Do(t, v.apply(r))
	}
	expect.That(t, len(v.Keys) == 2 && v.Keys[0].ID() == second.ID() && bytes.Equal(v.Keys[1].Reveal(), first.Reveal()), "%d keys, the first is %s", len(v.Keys), v.Keys[0].ID())
	err := v.apply(&kgo.Record{Key: []byte(replayKeyPrefix + second.ID())})
	expect.That(t, err == nil && len(v.Keys) == 1 && v.Keys[0].ID() == first.ID(), "after a tombstone: %d keys, %v", len(v.Keys), err)
	text := fmt.Sprintf("%v %+v %#v", v, v, v.Keys)
	expect.That(t, !strings.Contains(text, fmt.Sprint(first.Reveal()[:4])[1:10]), "the view shows a key: %s", text)
}

func TestView_refusesABrokenKey(t *testing.T) {
	k := proof.Random()
	whole := must.Get(keyRecord("c", k, noon))(t)
	secret := string(whole.Value)
	for name, c := range map[string]struct {
		id, value string
		newer     bool
	}{
		"no JSON":          {k.ID(), "x" + secret, false},
		"empty":            {k.ID(), "", false},
		"no version":       {k.ID(), strings.Replace(secret, `"version":1`, `"version":0`, 1), false},
		"newer":            {k.ID(), strings.Replace(secret, `"version":1`, `"version":2`, 1), true},
		"another one's id": {proof.Random().ID(), secret, false},
		"short":            {k.ID(), `{"version":1,"key":"AAAA"}`, false},
	} {
		v := newView()
		err := v.apply(&kgo.Record{Topic: "c", Offset: 7, Key: []byte(replayKeyPrefix + c.id), Value: []byte(c.value)})
		expect.That(t, err != nil && errors.Is(err, ErrNewer) == c.newer && strings.Contains(err.Error(), "c/0/7") && !strings.Contains(err.Error(), secret[20:40]) && len(v.Keys) == 0, "%s: got %v", name, err)
	}
}

var jobBegan = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

func aJob(id string) Job {
	return Job{ID: id, Run: "lease-1", Kind: JobDiscard, State: JobRunning, By: "ana", Reason: "x", Began: jobBegan, Heard: jobBegan, JobCounts: JobCounts{Letters: 3}}
}

func (v *View) put(t *testing.T, key string, value []byte) {
	t.Helper()
	must.Do(t, v.apply(&kgo.Record{Key: []byte(key), Value: value}))
}

// A malformed job record or order never keeps an instance or a replayer from reading the topic. It is ignored.
func TestView_S4_6_hostileJobsArePassedOver(t *testing.T) {
	t.Parallel()
	text := func(change func(*Job)) string {
		j := aJob("j")
		change(&j)
		value := must.Get(json.Marshal(j))(t)
		return string(value)
	}
	for name, value := range map[string]string{
		"empty": "", "cut": "{", "a list": "[]", "null": "null", "a number": "7", "bytes": "\xff\xfe", "of other types": `{"id":"j","kind":[],"state":{}}`,
		"another id": text(func(j *Job) { j.ID = "k" }), "no kind": text(func(j *Job) { j.Kind = "" }), "no state": text(func(j *Job) { j.State = "sleeping" }),
		"fewer than none": text(func(j *Job) { j.NotReached = -1 }), "huge": text(func(j *Job) { j.Why = strings.Repeat("x", maxJobBytes) }),
		"a time that is none": `{"id":"j","kind":"replay","state":"done","began":"yesterday"}`,
	} {
		v := newView()
		v.put(t, jobPrefix+"j", []byte(value))
		v.put(t, jobOrderPrefix+"j", []byte(value))
		expect.That(t, len(v.Jobs)+len(v.JobOrders) == 0, "%s: %+v, %+v", name, v.Jobs, v.JobOrders)
	}
	v := newView()
	value := must.Get(json.Marshal(jobWire{version, aJob("j").clipped()}))(t)
	v.put(t, jobPrefix+"j", value)
	expect.That(t, reflect.DeepEqual(v.Jobs["j"], aJob("j")), "%+v", v.Jobs["j"])
	v.put(t, jobOrderPrefix+"j", []byte(`{"version":1,"verb":"pause","run":"lease-0"}`))
	o := v.OrderFor(v.Jobs["j"])
	expect.That(t, o.Verb == "", "an order for an earlier run: %+v", o)
	v.put(t, jobOrderPrefix+"j", []byte(`{"version":1,"verb":"pause","run":"lease-1","by":"bo"}`))
	o = v.OrderFor(v.Jobs["j"])
	expect.That(t, o.Verb == PauseJob && o.By == "bo", "%+v", o)
	v.put(t, jobPrefix+"j", nil)
	expect.That(t, len(v.Jobs) == 0, "%+v", v.Jobs)
}

func TestView_S4_6_keepsTheLatestJobs(t *testing.T) {
	t.Parallel()
	v := View{Jobs: map[string]Job{}}
	for i := range KeepJobs + 2 {
		j := aJob(fmt.Sprintf("j%03d", i))
		j.Began = jobBegan.Add(time.Duration(i) * time.Second)
		v.Jobs[j.ID] = j
	}
	old := aJob("j050")
	old.Heard = jobBegan.Add(-KeepJobsFor - time.Second)
	v.Jobs["j050"] = old
	kept, expired := v.LatestJobs(jobBegan)
	expect.That(t, len(kept) == KeepJobs && kept[0].ID == "j101" && kept[KeepJobs-1].ID == "j001", "%d kept, from %s to %s", len(kept), kept[0].ID, kept[len(kept)-1].ID)
	want := []string{"j000", "j050"}
	expect.That(t, reflect.DeepEqual(expired, want) || reflect.DeepEqual(expired, []string{"j050", "j000"}), "expired %v, want %v", expired, want)
}

// A renewal by a replayer that was taken over does not restore its lease.
func TestView_C4_anOlderGenerationOfALeaseCountsForNothing(t *testing.T) {
	v := newView()
	put := func(token string, generation int64, released bool) {
		t.Helper()
		value := must.Get(json.Marshal(leaseWire{version, Lease{Token: token, Generation: generation, Since: time.Unix(1, 0), Released: released}}))(t)
		must.Do(t, v.apply(&kgo.Record{Key: []byte(leaseKey), Value: value}))
	}
	put("ana", 1, false)
	put("bo", 2, false)
	put("ana", 1, false)
	expect.That(t, v.Lease != nil && v.Lease.Token == "bo", "%v has the lease", v.Lease)
	put("bo", 2, true)
	put("ana", 1, false)
	expect.That(t, v.Lease.Token == "bo" && v.Lease.Released, "%v has the lease", v.Lease)
	put("cy", 3, false)
	expect.That(t, v.Lease.Token == "cy", "%v has the lease", v.Lease)
	for _, broken := range []string{"", "{", "[]", `{"token":7}`} { // it has no effect, and no instance stops because of it
		err := v.apply(&kgo.Record{Key: []byte(leaseKey), Value: []byte(broken)})
		expect.That(t, err == nil && v.Lease.Token == "cy", "%q: %v, %v", broken, v.Lease, err)
	}
}

func gatesOff(length time.Duration) State {
	return State{Phase: Running, Code: CodeOperator, Reason: "known", By: "ana", At: noon, GatesOff: noon.Add(length)}
}

// S1-8, S4-12: the record has the end as an instant, and a previous version reads it as a running pipeline.
func TestState_S1_8_S4_12_gatesOff(t *testing.T) {
	r := must.Get(PipelineRecord("c", gatesOff(10*time.Minute)))(t)
	const want = `{"version":1,"state":"running","code":"operator","reason":"known","by":"ana","at":"2026-07-01T12:00:00.25Z","gates_off_until":"2026-07-01T12:10:00.25Z"}`
	expect.That(t, string(r.Value) == want, "got %s", r.Value)
	got := gatesOff(10 * time.Minute).String()
	expect.That(t, strings.HasSuffix(got, "(operator), rate gates off until 2026-07-01T12:10:00Z"), "in words: %s", got)
	v := newView()
	err := v.apply(r)
	expect.That(t, err == nil && v.Pipeline.GatesOff.Equal(noon.Add(10*time.Minute)), "read back: %+v, %v", v.Pipeline, err)
	var earlier struct { // the fields of the previous version
		Version int    `json:"version"`
		State   Phase  `json:"state"`
		At      string `json:"at"`
	}
	err = json.Unmarshal(r.Value, &earlier)
	expect.That(t, err == nil && earlier.Version == 1 && earlier.State == Running, "an earlier version reads %+v, %v", earlier, err)
}

func TestState_S1_8_gatesOffBounds(t *testing.T) {
	for name, s := range map[string]State{
		"no time": gatesOff(0 - time.Second), "too long": gatesOff(MaxGatesOff + time.Second),
		"of a pause": {Phase: Paused, At: noon, GatesOff: noon.Add(time.Minute)},
	} {
		_, err := PipelineRecord("c", s)
		expect.That(t, err != nil, "%s was taken", name)
	}
	for name, c := range map[string]struct {
		state, until string
		want         time.Time
		fails        bool
	}{
		"for years":        {"running", "2036-07-01T12:00:00Z", noon.Truncate(time.Second).Add(MaxGatesOff), false},
		"before the order": {"running", "2026-07-01T11:00:00Z", time.Time{}, false},
		"of a pause":       {"paused", "2026-07-01T13:00:00Z", time.Time{}, false},
		"no time at all":   {"running", "soon", time.Time{}, true},
	} {
		v := newView()
		err := v.apply(&kgo.Record{Key: []byte(pipelineKey), Value: []byte(`{"version":1,"state":"` + c.state + `","at":"2026-07-01T12:00:00Z","gates_off_until":"` + c.until + `"}`)})
		expect.That(t, (err != nil) == c.fails && v.Pipeline.GatesOff.Equal(c.want) && (!c.fails || strings.Contains(err.Error(), "soon")), "%s: %s, %v", name, v.Pipeline.GatesOff, err)
	}
}

// If the clocks of two machines differ, the gates are never off for longer than ordered.
func TestGatesOffUntil_S1_8_clocksDiffer(t *testing.T) {
	s := gatesOff(10 * time.Minute)
	for name, c := range map[string]struct{ heard, want time.Duration }{
		"at once": {0, 10 * time.Minute}, "later": {9 * time.Minute, 10 * time.Minute}, "at its end": {10 * time.Minute, -1},
		"the instance's clock is a year behind": {-365 * 24 * time.Hour, -365*24*time.Hour + 10*time.Minute},
		"the instance is ahead":                 {time.Hour, -1},
	} {
		want := noon.Add(c.want)
		if c.want == -1 {
			want = time.Time{}
		}
		got := s.GatesOffUntil(noon.Add(c.heard))
		expect.That(t, got.Equal(want), "%s: %s, want %s", name, got, want)
	}
	got := (State{Phase: Running, At: noon}).GatesOffUntil(noon)
	expect.That(t, got.IsZero(), "no such order: %s", got)
}
