package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const dlt = "payments.DLT"

// anyDLQ is a world whose DLQ belongs to no pipeline, with the topics that its first change makes.
func anyDLQ(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, kfake.SeedTopics(3, "payments", dlt, dlt+".replayer-status", dlt+".replayer-audit"), kfake.SeedTopics(1, dlt+".replayer-control"))
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: dlt, Brokers: w.broker.ListenAddrs()}, nil, nil))(t)
	w.cfg, w.alone = cfg, true
	return w
}

// aloneService is a service with a clock of its own.
func (w *world) aloneService(now func() time.Time) *Service {
	s := w.service()
	s.now, s.indexOptions.Now = now, now
	return s
}

func atStart() time.Time { return start }

// ofSpring is a dead letter in the form of Spring Kafka.
func ofSpring(i int) *kgo.Record {
	return &kgo.Record{
		Topic: dlt, Partition: int32(i % 3), Key: fmt.Append(nil, "k", i), Value: fmt.Append(nil, "v", i), Timestamp: start.Add(-time.Hour),
		Headers: []kgo.RecordHeader{
			{Key: "kafka_dlt-original-topic", Value: []byte("payments")},
			{Key: "kafka_dlt-original-partition", Value: binary.BigEndian.AppendUint32(nil, uint32(i%3))},
			{Key: "kafka_dlt-original-offset", Value: binary.BigEndian.AppendUint64(nil, uint64(i))},
			{Key: "kafka_dlt-exception-fqcn", Value: []byte("a.Failed")},
		},
	}
}

func (w *world) dieOfSpring(n int) {
	w.t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, ofSpring(i))
	}
	w.die(records...)
}

// A permission goes missing while it runs: record, state and audit event come together or not at all, also of the batch that was prepared
// behind the one that is written, and once it is granted again the same plan goes on.
func TestAlone_C4_aPermissionThatGoesMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic   string
		commits int32 // before it is denied
	}{{"payments", 1}, {dlt + ".replayer-status", 1}, {dlt + ".replayer-audit", 1}, {dlt + ".replayer-audit", 0}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w := anyDLQ(t)
			w.dieOfSpring(inBatch + behind)
			s, plan := w.planned()
			var ends atomic.Int32
			fault := w.broker.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: c.topic, Err: kerr.TopicAuthorizationFailed, Count: -1,
				When: func(kmsg.Request) bool { return ends.Load() >= c.commits },
			})
			w.onEndTxn(func(*kmsg.EndTxnRequest) { ends.Add(1) })
			r, err := s.Execute(w.ctx(), plan, ExecuteOptions{Call: ana("x")})
			expect.That(t, errors.Is(err, kerr.TopicAuthorizationFailed) && strings.Contains(err.Error(), "Write topic "+c.topic) && r.Transactions <= int(c.commits), "%+v, %v", r, err)
			w.allOnce(r.Reinjected)
			fault.Remove()
			w.execute(s, plan)
			w.allOnce(inBatch + behind)
		})
	}
}

// A DLQ whose records may not be deleted keeps its states, too; the same call prunes once it may.
func TestPrune_C4_aPermissionThatIsMissing(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.dieOfSpring(5)
	s := w.aloneService(atStart)
	w.execute(s, w.plan(s, deadletters.Filter{}))
	later := w.aloneService(func() time.Time { return atStart().Add(2 * time.Hour) })
	before := atStart().Add(time.Hour)
	fault := w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteRecords}, Topic: dlt, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := later.Prune(w.ctx(), before, ana("x"))
	expect.That(t, errors.Is(err, kerr.TopicAuthorizationFailed) && strings.Contains(err.Error(), "Delete topic "+dlt), "%v", err)
	r := must.Get(later.PreviewPrune(w.ctx(), before))(t)
	expect.That(t, r.Records == 5 && r.Letters == 5, "after the refusal: %+v", r)
	fault.Remove()
	r = must.Get(later.Prune(w.ctx(), before, ana("x")))(t)
	expect.That(t, r.Records == 5 && r.Letters == 5 && r.Statuses[deadletters.Discarded] == 5, "%+v", r)
}

// reads commits for a group that it has read so many records of each partition of a topic.
func (w *world) reads(group, topic string, offset int64) {
	w.t.Helper()
	var offsets kadm.Offsets = kadm.Offsets{}
	for p := range int32(3) {
		offsets.AddOffset(topic, p, offset, -1)
	}
	must.Do(w.t, kadm.NewClient(w.writer).CommitAllOffsets(w.ctx(), group, offsets))
}

// readsAll commits for a group what a Java consumer commits that has read a topic: the offset behind the last record of each partition,
// which is not behind the marker of its transaction.
func (w *world) readsAll(group, topic string) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	for _, r := range w.read(topic) {
		offsets.AddOffset(topic, r.Partition, r.Offset+1, -1)
	}
	must.Do(w.t, kadm.NewClient(w.writer).CommitAllOffsets(w.ctx(), group, offsets))
}

// killedIs waits until the record of a job says of its watched group what is wanted, as everybody sees it whose clock is beyond its lease.
func (w *world) killedIs(id string, state control.JobState, want control.JobWatch) {
	w.t.Helper()
	later := w.aloneService(func() time.Time { return time.Now().Add(time.Hour) })
	eventually.Until(w.ctx(), w.t, "the record of "+id, func() (bool, string) {
		j, err := later.Job(w.ctx(), id)
		through := j.Watched.Through
		j.Watched.Through = ""
		return err == nil && j.State == state && j.Watched == want && strings.HasPrefix(through, "payments/"), fmt.Sprintf("%+v, %q, %v", j, through, err)
	})
}

// A wave counts as consumed once the group has committed beyond it and nothing of it died again for the grace after that. What dies again
// in that time stops the replay.
func TestWatch_C4_S2_6_theGroupPassesEachWave(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"nothing dies again": false, "one dies again": true} {
		t.Run(name, func(t *testing.T) {
			w := anyDLQ(t)
			w.dieOfSpring(9)
			w.reads("billing", "payments", 0)
			var now atomic.Int64 // seconds since the start
			s := w.aloneService(func() time.Time { return start.Add(time.Duration(now.Load()) * time.Second) })
			plan := w.plan(s, deadletters.Filter{})
			looks, killed := 0, false
			o := ExecuteOptions{
				Call: ana("x"), Ramp: ramp.Ramp{Canary: 2, Gated: true}, Grace: time.Minute, WatchGroup: "billing",
				Progress: func(p Progress) {
					if p.Phase != Gating && p.Phase != Waiting {
						return
					}
					switch looks++; {
					case looks == 1 || looks == 2:
						now.Add(600) // the grace has not begun: the group has read nothing
						expect.That(t, p.Watched.Group == "billing" && (looks == 1 || p.Watched.Behind > 0), "%+v", p.Watched)
						expect.Equal(t, len(w.read("payments")), 2, "records put back while the group had not passed the canary")
					case looks == 3:
						w.reads("billing", "payments", 100)
					case p.Phase == Waiting && !killed:
						killed = true
						w.killedIs("r1", control.JobStopped, control.JobWatch{Group: "billing", Consumed: 2, Waiting: 7})
					case dies:
						sent := w.read("payments")[0]
						failed := ofSpring(0)
						failed.Headers, failed.Timestamp = append(sent.Headers, failed.Headers...), s.now()
						w.die(failed)
						dies = false
					default:
						now.Add(60)
					}
				},
			}
			r, err := s.Execute(w.ctx(), plan, o)
			var stop *StopError
			switch {
			case name == "one dies again" && (!errors.As(err, &stop) || r.Reinjected != 2 || r.Outcome.FailedAgain != 1 || r.Outcome.Consumed != 0):
				t.Errorf("%+v %+v, %v", r, r.Outcome, err)
			case name == "nothing dies again" && (err != nil || r.Reinjected != 9 || r.Outcome.Consumed != 9 || r.Outcome.UnderWay != 0 || !killed):
				t.Errorf("%+v %+v, %v", r, r.Outcome, err)
			}
			want, state, says := control.JobWatch{Group: "billing", Consumed: 9}, control.JobDone, "group billing: 9 consumed, 0 died again, 0 waiting, through payments/0/"
			if stop != nil {
				want, state, says = control.JobWatch{Group: "billing", Waiting: 1}, control.JobStopped, "group billing: 0 consumed, 1 died again, 1 waiting, through payments/"
			}
			w.killedIs("r1", state, want)
			report := w.report(w.service(), "r1")
			expect.That(t, report.Consumed == want.Consumed && report.FailedAgain == r.Outcome.FailedAgain, "%+v", report)
			actions, err := w.service().Actions(w.ctx(), audit.Filter{Operation: "r1"})
			expect.That(t, err == nil && len(actions) == 1 && strings.HasPrefix(actions[0].Watched, says) && strings.HasPrefix(actions[0].What, "replay of 9"), "%+v, %v", actions, err)
			if stop != nil { // the same plan again: what died again is left, and stops nothing
				killed = true
				r, err = s.Execute(w.ctx(), plan, o)
				expect.That(t, err == nil && r.Reinjected == 7 && r.Already == 1 && r.Left == 1 && r.Outcome.Consumed == 8 && strings.Contains(r.Skipped[0].Why, "failed again in this replay"), "%+v, %+v, %v", r, r.Outcome, err)
			}
		})
	}
}

// A group that does not move stops the replay, and says how far it is behind; applied again, the replay waits for the same records.
func TestWatch_C4_S2_6_aGroupThatStandsStill(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.dieOfSpring(9)
	w.reads("billing", "payments", 0)
	var now atomic.Int64
	s := w.aloneService(func() time.Time { return start.Add(time.Duration(now.Add(60)) * time.Second) })
	plan := w.plan(s, deadletters.Filter{})
	o := ExecuteOptions{Call: ana("x"), Ramp: ramp.Ramp{Canary: 3, Gated: true}, WatchGroup: "billing", Patience: 10 * time.Minute}
	for range 2 {
		r, err := s.Execute(w.ctx(), plan, o)
		stop, ok := errors.AsType[*StopError](err)
		expect.That(t, ok && stop.Group == "billing" && stop.Behind >= 3 && strings.Contains(err.Error(), "group billing") && len(w.read("payments")) == 3, "%+v, %v", r, err)
	}
	o.Progress = func(Progress) { w.readsAll("billing", "payments") }
	r, err := s.Execute(w.ctx(), plan, o)
	expect.That(t, err == nil && r.Reinjected == 6 && len(w.read("payments")) == 9, "%+v, %v", r, err)
}

// compact makes the origin of the dead letters of a world a compacted topic, in which each of n records died.
func (w *world) compact(n int) {
	w.t.Helper()
	compact := "compact"
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &compact}}
	must.Get(kadm.NewClient(w.writer).AlterTopicConfigs(w.ctx(), set, "payments"))(w.t)
	var values, letters []*kgo.Record
	next := map[int32]uint64{}
	for i := range n {
		l := ofSpring(i)
		l.Headers[2].Value = binary.BigEndian.AppendUint64(nil, next[l.Partition])
		next[l.Partition]++
		letters = append(letters, l)
		values = append(values, &kgo.Record{Topic: "payments", Partition: l.Partition, Key: l.Key, Value: l.Value, Timestamp: start.Add(-2 * time.Hour)})
	}
	w.die(values...)
	w.die(letters...)
}

// A value that arrives while a replay waits for its canary keeps its dead letter back.
func TestOvertaken_C4_whileTheReplayRuns(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.compact(9)
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	last := ofSpring(8)
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{
		Call: ana("x"), Ramp: ramp.Ramp{Canary: 2, Gated: true},
		Progress: func(p Progress) {
			if p.Phase == Gating && p.Wave == 1 {
				w.die(&kgo.Record{Topic: "payments", Partition: last.Partition, Key: last.Key, Value: []byte("newer")})
			}
		},
	})
	expect.That(t, err == nil && r.Reinjected == 8 && r.Left == 1 && strings.Contains(r.Skipped[0].Why, "has a newer value of its key"), "%+v, %v", r, err)
}

// Without permission to read a compacted topic nothing goes there unless it is forced, and a permission that goes missing after the plan
// stops the replay before it sends anything.
func TestOvertaken_C4_aPermissionThatGoesMissing(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.compact(5)
	s := w.service()
	deny := func() *kfake.FaultHandle {
		return w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "payments", Err: kerr.TopicAuthorizationFailed, Count: -1})
	}
	p := w.plan(s, deadletters.Filter{})
	fault := deny()
	_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{})
	expect.That(t, errors.Is(err, kerr.TopicAuthorizationFailed) && strings.Contains(err.Error(), "topic payments"), "a plan: %v", err)
	forced, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{Force: "all the same"})
	expect.That(t, err == nil && forced.Doubt != "" && forced.Summary().Reinject == 5, "a forced plan: %v", err)
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("x")})
	expect.That(t, errors.Is(err, kerr.TopicAuthorizationFailed) && r.Reinjected == 0, "%+v, %v", r, err)
	fault.Remove()
	expect.Equal(t, w.execute(s, p).Reinjected, 5, "reinjected")
}

// A cluster that does not tell the settings of a topic leaves a doubt, which the plan names.
func TestOvertaken_C4_settingsThatAreNotTold(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.dieOfSpring(3)
	w.broker.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		answer := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, asked := range req.(*kmsg.DescribeConfigsRequest).Resources {
			of := kmsg.NewDescribeConfigsResponseResource()
			of.ResourceType, of.ResourceName, of.ErrorCode = asked.ResourceType, asked.ResourceName, kerr.TopicAuthorizationFailed.Code
			answer.Resources = append(answer.Resources, of)
		}
		return answer, nil, true
	})
	p := w.plan(w.service(), deadletters.Filter{})
	expect.That(t, strings.Contains(p.Doubt, "DescribeConfigs topic payments") && p.Summary().Reinject == 3, "%+v", p.Head)
}
