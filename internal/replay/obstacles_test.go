package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Who puts dead letters back is told first when nobody is there to take them, and when the pipeline is paused.
func TestObstacles_S4_8(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.service()
	want := func(parts ...string) {
		t.Helper()
		found := s.Obstacles(w.ctx())
		if len(found) != len(parts) {
			t.Fatalf("found %q, want %q", found, parts)
		}
		for i, part := range parts {
			if !strings.Contains(found[i].Text, part) {
				t.Errorf("found %q, want %q", found[i], part)
			}
		}
	}
	want("no instance of features is running")
	paused := must.Get(control.PipelineRecord(w.cfg.Topics.Control, control.State{
		Phase: control.Held, Code: control.CodeOperator, Reason: "the registry is down", By: "bo", At: time.Unix(1, 0).UTC(),
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
