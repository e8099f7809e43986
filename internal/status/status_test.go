package status_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// newBroker returns a broker with the topics of a pipeline: partition 0 of the source has three records of which one is
// committed, partition 1 has two uncommitted ones, two records wait in the first tier, and a foreign topic has the name
// of a tier.
func newBroker(t *testing.T) (*config.Config, *kadm.Client) {
	t.Helper()
	cfg, _, admin := newCluster(t)
	return cfg, admin
}

// newCluster also returns the broker, for tests that answer in its place.
func newCluster(t *testing.T, opts ...kgo.Opt) (*config.Config, *kfake.Cluster, *kadm.Client) {
	t.Helper()
	cfg := must.Get(config.Parse("test.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503], tiers: [2s, 8s] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
`), nil))(t)
	cluster := fakekafka.Start(t, kfake.SeedTopics(2, append(cfg.TierTopics(), cfg.Source.Topic, "parcels.retry-9s")...))
	client := must.Get(kgo.NewClient(append(opts, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...))(t)
	t.Cleanup(client.Close)
	for topic, counts := range map[string][2]int{cfg.Source.Topic: {3, 2}, cfg.TierTopics()[0]: {0, 2}, "parcels.retry-9s": {2, 0}} {
		for partition, n := range counts {
			for range n {
				r := &kgo.Record{Topic: topic, Partition: int32(partition), Value: []byte("x")}
				must.Do(t, client.ProduceSync(t.Context(), r).FirstErr())
			}
		}
	}
	admin := kadm.NewClient(client)
	offsets := kadm.Offsets{}
	offsets.AddOffset(cfg.Source.Topic, 0, 1, -1)
	must.Do(t, admin.CommitAllOffsets(t.Context(), cfg.Source.Group, offsets))
	return cfg, cluster, admin
}

// deadLetters is a fixed count of dead letters.
type deadLetters struct {
	deadletters.Count
	err error
}

func (l deadLetters) Read(context.Context) (deadletters.Count, error) { return l.Count, l.err }

// The report has the number of pending dead letters, since when they wait, and the command that shows them.
func TestGather_S4_11_countsDeadLettersThatWait(t *testing.T) {
	t.Parallel()
	cfg, admin := newBroker(t)
	since := time.Now().Add(-7*time.Minute - 30*time.Second)
	for _, c := range []struct {
		deadLetters deadLetters
		want        string
	}{
		{deadLetters{}, "none pending\n"},
		{deadLetters{Count: deadletters.Count{Pending: 500, Oldest: since}}, "500 pending, the oldest for 7m3"},
		{deadLetters{Count: deadletters.Count{Escalated: 2, Replaying: 3, Oldest: since}}, "0 pending, 2 escalated, 3 replaying, the oldest for 7m3"},
		{deadLetters{err: errors.New("Read was refused")}, "not counted: Read was refused\n"},
	} {
		r := must.Get(status.Gather(t.Context(), cfg, admin, control.View{Pipeline: control.State{Phase: control.Running}}, nil, c.deadLetters))(t)
		var text bytes.Buffer
		err := r.Text(&text)
		expect.That(t, err == nil && strings.Contains(text.String(), "dead letters  "+c.want), "%v\n%s", err, text.String())
		expect.That(t, r.DeadLetters.Pending == c.deadLetters.Pending && (r.DeadLetters.Oldest == nil) == c.deadLetters.Oldest.IsZero(), "%+v", r.DeadLetters)
	}
}

func TestGather_S4_11_saysWhyItStandsStillAndHowFarItHasCome(t *testing.T) {
	cfg, admin := newBroker(t)
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, ofPipeline("parcels"), "# TYPE switchback_pipeline_paused gauge\nswitchback_pipeline_paused 1\n",
			"# TYPE switchback_deferred_records gauge\nswitchback_deferred_records{dependency=\"place\"} 40\n",
			"# TYPE switchback_circuit_open gauge\nswitchback_circuit_open{dependency=\"place\"} 1\nswitchback_circuit_open{dependency=\"zone\"} 0\n",
			"# TYPE switchback_provider_circuit gauge\nswitchback_provider_circuit{step=\"zone\",provider=\"backup\",state=\"half_open\"} 1\n")
	}))
	defer answers.Close()
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	view := control.View{
		Pipeline: control.State{Phase: control.Paused, Code: control.CodeNullRate, Reason: "owner", By: "consumer a", At: at},
		Batches:  map[string]control.State{"b1": {Phase: control.Quarantined, Reason: "zone", At: at}},
	}
	r := must.Get(status.Gather(t.Context(), cfg, admin, view, []string{address(answers), address(broken)}, deadLetters{}))(t)
	if want := []kafka.PartitionLag{{Partition: 0, Committed: 1, End: 3, Lag: 2}, {Partition: 1, Committed: -1, End: 2, Lag: 2}}; !reflect.DeepEqual(r.Partitions, want) || r.Lag != 4 {
		t.Errorf("partitions %+v, lag %d", r.Partitions, r.Lag)
	}
	if want := []status.Tier{{Topic: "parcels.retry-2s", Waiting: 2}, {Topic: "parcels.retry-8s"}, {Topic: "parcels.retry-9s", Waiting: 2, Former: true, Unread: true}}; !reflect.DeepEqual(r.Tiers, want) {
		t.Errorf("tiers %+v", r.Tiers)
	}
	if want := []status.Dependency{{"place", true, false, 40}, {"zone", false, false, 0}, {"zone/backup", false, true, 0}}; !reflect.DeepEqual(r.Instances[0].Dependencies, want) || !r.Instances[0].Paused {
		t.Errorf("instance %+v", r.Instances[0])
	}
	expect.That(t, r.Instances[1].Error != "", "an instance that answers 404: %+v", r.Instances[1])
	var text bytes.Buffer
	must.Do(t, r.Text(&text))
	for _, want := range []string{"state", "paused", "owner", "null_rate", "consumer a", "2026-07-01T12:00:00Z", "b1 is quarantined", "nothing", "place", "open", "half-open", "40", "does not answer", "perhaps another pipeline's"} {
		expect.That(t, strings.Contains(text.String(), want), "%q is missing in\n%s", want, text.String())
	}
}

// S4-11: the state is the last order. Whether an instance runs is read from the group.
func TestGather_S4_11_saysWhetherAnInstanceIsRunning(t *testing.T) {
	cfg, cluster, admin := newCluster(t)
	first := func() (status.Report, string) {
		t.Helper()
		r := must.Get(status.Gather(t.Context(), cfg, admin, control.View{Pipeline: control.State{Phase: control.Running}}, nil, deadLetters{}))(t)
		var text bytes.Buffer
		must.Do(t, r.Text(&text))
		line, _, _ := strings.Cut(text.String(), "\n")
		expect.That(t, strings.Contains(text.String(), "not paused") == (len(r.Members) == 0), "%s", text.String())
		return r, line
	}
	r, line := first()
	expect.That(t, len(r.Members) == 0 && strings.HasSuffix(line, "parcels, no instance is running"), "%+v: %s", r.Members, line)
	member := fakekafka.Client(t, cluster, kgo.ConsumerGroup(cfg.Source.Group), kgo.ConsumeTopics(cfg.Source.Topic), kgo.InstanceID("a"))
	if fetches := member.PollFetches(t.Context()); fetches.Err() != nil {
		t.Fatal(fetches.Err())
	}
	r, line = first()
	expect.That(t, len(r.Members) == 1 && r.Members[0].Name == "a" && slices.Equal(r.Members[0].Partitions, []int32{0, 1}) && strings.HasSuffix(line, "1 instance is running"), "%+v: %s", r.Members, line)
}

func ofPipeline(id string) string {
	return fmt.Sprintf("# TYPE switchback_build_info gauge\nswitchback_build_info{pipeline=%q,version=\"v1\"} 1\n", id)
}

// The answer at an instance's address may come from another pipeline. It contains nothing about this one.
func TestGather_S4_11_takesNoWordOfAnotherPipelineForItsOwn(t *testing.T) {
	cfg, admin := newBroker(t)
	for name, c := range map[string]struct{ metrics, says string }{
		"another pipeline": {ofPipeline("sensors") + "# TYPE switchback_pipeline_paused gauge\nswitchback_pipeline_paused 1\n", "is an instance of the pipeline sensors, not of parcels"},
		"other software":   {"# TYPE node_load1 gauge\nnode_load1 1\n", "is not an instance of a pipeline"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.metrics) }))
			defer server.Close()
			r, err := status.Gather(t.Context(), cfg, admin, control.View{Pipeline: control.State{Phase: control.Running}}, []string{strings.TrimPrefix(server.URL, "http://")}, deadLetters{})
			expect.That(t, err == nil && strings.Contains(r.Instances[0].Error, c.says) && !r.Instances[0].Paused, "%+v, %v", r.Instances, err)
			var text bytes.Buffer
			err = r.Text(&text)
			expect.That(t, err == nil && strings.Contains(text.String(), c.says) && !strings.Contains(text.String(), "nothing is deferred"), "%v\n%s", err, text.String())
		})
	}
}

var (
	one = "sha256:" + strings.Repeat("1", 64)
	two = "sha256:" + strings.Repeat("2", 64)
)

func TestAnnouncement_S4_8_isReadAsItWasWritten(t *testing.T) {
	want := status.Announcement{Mapping: one, Software: "v1.2.3"}
	data := must.Get(want.Encode())(t)
	got := status.ReadAnnouncement(data)
	expect.That(t, got == want, "%+v", got)
	_, err := (status.Announcement{Mapping: "none"}).Encode()
	expect.That(t, err != nil, "a text that is not a fingerprint is announced")
	later := strings.Replace(string(data), `"version":1`, `"version":2,"more":true`, 1)
	got = status.ReadAnnouncement([]byte(later))
	expect.That(t, got == want, "of a later version: %+v", got)
}

// Any client can join a group with any user data.
func TestRead_S4_8_hostileIsUnknown(t *testing.T) {
	for name, data := range map[string]string{
		"nothing": "", "no JSON": "\x00\x01", "null": "null", "a list": "[]", "no version": `{"mapping":"` + one + `"}`,
		"a colored fingerprint":  `{"version":1,"mapping":"\u001b[31m` + one + `"}`,
		"more than there can be": `{"version":1,"mapping":"` + one + `","x":"` + strings.Repeat("x", 8<<10) + `"}`,
	} {
		expect.Equal(t, status.ReadAnnouncement([]byte(data)), (status.Announcement{}), name)
	}
	got := status.ReadAnnouncement([]byte(`{"version":1,"mapping":"` + one + `","software":"\u001b[31mred"}`))
	expect.That(t, got.Software == "" && got.Mapping == one, "%+v", got)
}

func member(name, mapping string) status.Member {
	return status.Member{Name: name, Host: "10.0.0.1", Mapping: mapping}
}

func TestMappingComparison_S4_8(t *testing.T) {
	for _, c := range []struct {
		name           string
		members        []status.Member
		differs, mixed bool
		lines          []string
	}{
		{name: "nobody runs"},
		{"the same", []status.Member{member("a", one), member("b", one)}, false, false, []string{"this file", "2 instances: a at 10.0.0.1, b at 10.0.0.1, the same"}},
		{"another", []status.Member{member("a", two)}, true, false, []string{"this file", "sha256:222222222222: instance a at 10.0.0.1, DIFFERENT"}},
		{"an earlier version", []status.Member{member("a", "")}, false, false, []string{"this file", "mapping unknown: instance a at 10.0.0.1, not known"}},
		{"a rolling deployment", []status.Member{member("a", one), member("b", two), member("c", "")}, true, true, []string{"this file", "a at", "b at", "c at", "differ among themselves"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := status.MappingComparison{Own: one, Members: c.members}
			expect.That(t, got.Differs() == c.differs && got.Mixed() == c.mixed, "differs %v, mixed %v", got.Differs(), got.Mixed())
			lines := got.Lines("this file")
			must.That(t, len(lines) == len(c.lines), "%q", lines)
			for i, part := range c.lines {
				expect.That(t, strings.Contains(lines[i], part), "line %q, want %q", lines[i], part)
			}
		})
	}
}

func partitions(pairs ...int64) (r status.Report) {
	for i := 0; i < len(pairs); i += 2 {
		s := kafka.PartitionLag{Partition: int32(i / 2), Committed: pairs[i], End: pairs[i+1], Lag: pairs[i+1] - max(pairs[i], 0)}
		r.Partitions, r.Lag = append(r.Partitions, s), r.Lag+s.Lag
	}
	return r
}

func TestSince_S2_7_countsWhatMoved(t *testing.T) {
	for name, c := range map[string]struct {
		before, now status.Report
		in, done    float64
		left        float64 // 0: none
	}{
		"catching up":      {partitions(0, 100), partitions(50, 110), 1, 5, 15},
		"falling behind":   {partitions(0, 100), partitions(10, 200), 10, 1, 0},
		"standing still":   {partitions(10, 100), partitions(10, 100), 0, 0, 0},
		"no lag":           {partitions(90, 100), partitions(100, 100), 0, 1, 0},
		"first commit":     {partitions(-1, 100), partitions(40, 100), 0, 4, 15},
		"re-created topic": {partitions(500, 500), partitions(0, 10), 0, 0, 0},
		"more partitions":  {partitions(0, 10), partitions(10, 10, 0, 50), 0, 1, 50},
	} {
		got := c.now.Since(c.before, 10*time.Second)
		left := 0.0
		if got.Left != nil {
			left = *got.Left
		}
		expect.That(t, got.In == c.in && got.Done == c.done && left == c.left, "%v: %v in, %v done, %v left; want %v, %v, %v", name, got.In, got.Done, left, c.in, c.done, c.left)
	}
	expect.Equal(t, partitions(5, 5).Since(partitions(0, 5), 0), (status.Rates{}), "within no time")
}

// S2-7: while a broker is down, a watch shows the age of its data and continues. If the first request fails, it ends.
func TestWatch_S2_7_goesOnWithoutBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("no broker answers")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		gather := func(context.Context) (status.Report, error) {
			if n++; n == 2 {
				return status.Report{}, away
			}
			return partitions(int64(10*n), 100), nil
		}
		var seen []status.Seen
		var troubles []error
		err := status.Watch(ctx, 2*time.Second, gather, func(s status.Seen, trouble error) error {
			seen, troubles = append(seen, s), append(troubles, trouble)
			if len(seen) == 3 {
				cancel()
			}
			return nil
		})
		must.That(t, err == nil && len(seen) == 3 && errors.Is(troubles[1], away) && troubles[2] == nil, "%v, %d reports, troubles %v", err, len(seen), troubles)
		expect.That(t, seen[1].At == seen[0].At && seen[1].Lag == 90, "without brokers: %+v, want the former report", seen[1])
		if seen[2].Rates == nil || seen[2].Rates.Done != 5 { // 20 in 4 s
			t.Errorf("rates %+v, want 5 a second over the gap", seen[2].Rates)
		}
		err = status.Watch(t.Context(), time.Second, func(context.Context) (status.Report, error) { return status.Report{}, away }, nil)
		expect.That(t, errors.Is(err, away), "a first request without brokers: %v", err)
	})
}

// Whatever a reason contains, a screen has no more lines and columns than the terminal, and no text moves the cursor.
func TestScreen_S2_7_fitsTheTerminal(t *testing.T) {
	report := partitions(make([]int64, 2*60)...)
	report.State.Reason = "\x1b[2J\u202e" + strings.Repeat("wide ", 100)
	s := status.Seen{At: time.Unix(0, 0), Report: report, Rates: &status.Rates{In: 1, Done: 2}}
	for _, size := range [][2]int{{80, 24}, {200, 60}, {20, 3}, {1, 1}} {
		lines := s.Screen(time.Unix(9, 0), errors.New("no broker answers"), size[0], size[1])
		expect.That(t, len(lines) <= max(size[1]-1, 1) || size[1] <= 1, "%v: %d lines", size, len(lines))
		for _, line := range lines {
			n := len([]rune(line))
			expect.That(t, (n <= size[0] || size[0] <= 1) && !strings.ContainsAny(line, "\x1b\u202e\n"), "%v: %q", size, line)
		}
	}
	text := strings.Join(s.Screen(time.Unix(9, 0), errors.New("no broker answers"), 200, 100), "\n")
	for _, says := range []string{"1.0/s in, 2.0/s committed", "NOT NEW, of 9s ago: no broker answers", "no instance is running"} {
		expect.That(t, strings.Contains(text, says), "%q is missing in:\n%s", says, text)
	}
}
