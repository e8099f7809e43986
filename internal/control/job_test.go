package control

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var jobBegan = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

func aJob(id string) Job {
	return Job{ID: id, Run: "lease-1", Kind: JobDiscard, State: JobRunning, By: "ana", Reason: "x", Began: jobBegan, Heard: jobBegan, JobCounts: JobCounts{Letters: 3}}
}

func (v *View) put(t *testing.T, key string, value []byte) {
	t.Helper()
	err := v.apply(&kgo.Record{Key: []byte(key), Value: value})
	must.That(t, err == nil, "%s: %v", key, err)
}

// No record of a job, and no order for one, keeps an instance or a replayer from reading the topic: what cannot be read is none.
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
	value := must.Get(aJob("j").encode())(t)
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

// A sign of life that a replayer gives after it was taken over from does not bring its lease back.
func TestView_C4_anOlderGenerationOfALeaseCountsForNothing(t *testing.T) {
	v := newView()
	put := func(token string, generation int64, released bool) {
		t.Helper()
		value := must.Get(json.Marshal(leaseWire{Version: version, Token: token, Generation: generation, Since: time.Unix(1, 0), Released: released}))(t)
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
	for _, broken := range []string{"", "{", "[]", `{"token":7}`} { // it orders nothing: no instance stops for it
		err := v.apply(&kgo.Record{Key: []byte(leaseKey), Value: []byte(broken)})
		expect.That(t, err == nil && v.Lease.Token == "cy", "%q: %v, %v", broken, v.Lease, err)
	}
}
