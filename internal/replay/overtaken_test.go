package replay

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
	s := w.aloneService(atStart)
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
	if err != nil || r.Reinjected != 8 || r.Left != 1 || !strings.Contains(r.Skipped[0].Why, "has a newer value of its key") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Without permission to read a compacted topic nothing goes there unless it is forced, and a permission that goes missing after the plan
// stops the replay before it sends anything.
func TestOvertaken_C4_aPermissionThatGoesMissing(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.compact(5)
	s := w.aloneService(atStart)
	deny := func() *kfake.FaultHandle {
		return w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "payments", Err: kerr.TopicAuthorizationFailed, Count: -1})
	}
	p := w.plan(s, deadletters.Filter{})
	fault := deny()
	if _, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{}); !errors.Is(err, kerr.TopicAuthorizationFailed) || !strings.Contains(err.Error(), "topic payments") {
		t.Errorf("a plan: %v", err)
	}
	if forced, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{Force: "all the same"}); err != nil || forced.Doubt == "" || forced.Summary().Reinject != 5 {
		t.Errorf("a forced plan: %v", err)
	}
	if r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("x")}); !errors.Is(err, kerr.TopicAuthorizationFailed) || r.Reinjected != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	fault.Remove()
	if r := w.execute(s, p); r.Reinjected != 5 {
		t.Errorf("%+v", r)
	}
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
	p := w.plan(w.aloneService(atStart), deadletters.Filter{})
	if !strings.Contains(p.Doubt, "DescribeConfigs topic payments") || p.Summary().Reinject != 3 {
		t.Errorf("%+v", p.Head)
	}
}
