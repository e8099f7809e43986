package dlq

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var start = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const (
	square = `{"type":"Feature","id":"a","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},"properties":{"name":"a"}}`
	bowTie = `{"type":"Feature","id":"a","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]},"properties":{"name":"a"}}`
)

// open returns a service over a broker with the given records, and an index in a separate file.
func open(t *testing.T, records ...*kgo.Record) *Service {
	t.Helper()
	broker := fakekafka.Start(t, kfake.SeedTopics(3, "features", "features.dlq", "features.dlq-status", "features.audit"))
	writer := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must.Do(t, writer.ProduceSync(t.Context(), records...).FirstErr())
	return openDLQ(t, configure(t, broker.ListenAddrs()))
}

func openDLQ(t *testing.T, cfg *config.Config) *Service {
	t.Helper()
	s := must.Get(Open(t.Context(), cfg, Options{Options: replay.Options{
		Index: dlqindex.Options{Place: filepath.Join(t.TempDir(), "index.sqlite")}, Now: func() time.Time { return start },
	}}))(t)
	t.Cleanup(s.Close)
	return s
}

func put(t *testing.T, s *Service, records ...*kgo.Record) {
	t.Helper()
	writer := must.Get(kgo.NewClient(kgo.SeedBrokers(s.cfg.Kafka.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner())))(t)
	defer writer.Close()
	must.Do(t, writer.ProduceSync(t.Context(), records...).FirstErr())
}

// cut removes the records of a partition of the DLQ before an offset.
func cut(t *testing.T, s *Service, partition int32, before int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(s.source.DLQ, partition, before, -1)
	must.Get(s.admin.DeleteRecords(t.Context(), offsets))(t)
}

// listed are the ids of the dead letters that exist, or are gone.
func listed(t *testing.T, s *Service, gone bool) []string {
	t.Helper()
	var out []string
	must.Do(t, s.Letters(t.Context(), dlqindex.Query{Gone: gone}, func(l deadletters.Letter) error {
		out = append(out, l.ID)
		return nil
	}))
	slices.Sort(out)
	return out
}

func configure(t *testing.T, brokers []string) *config.Config {
	t.Helper()
	text := fmt.Sprintf(`
pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
`, strings.Join(brokers, ", "))
	return must.Get(config.Parse("pipeline.yaml", []byte(text), func(string) string { return "" }))(t)
}

// letter is a dead letter as the consumer writes it. Later ones of a partition died later.
func letter(partition int32, id, value string) *kgo.Record {
	c := header.Control{
		Attempt: 1, MaxAttempts: 5, FailedAt: start.Add(-time.Hour), SourceTimestamp: start.Add(-2 * time.Hour),
		ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate", ErrorMessage: "ring 3 crosses itself",
		Source: header.Position{Topic: "features", Partition: partition, Offset: 40}, HasSource: true,
		ContentHash: idempotency.Of([]byte(value)).String(), FeatureID: id, Pipeline: "features", DeadLetterID: id,
	}
	return &kgo.Record{
		Topic: "features.dlq", Partition: partition, Key: []byte("key of " + id), Value: []byte(value), Timestamp: start.Add(-time.Hour),
		Headers: c.AppendTo([]kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}),
	}
}

func TestShow_gives_headers_bytes_and_the_decoded_feature(t *testing.T) {
	s := open(t, letter(1, "x", "other"), letter(1, "a", bowTie), letter(1, "y", "other"))
	d := must.Get(s.Show(t.Context(), "a"))(t)
	expect.That(t, string(d.Letter.Content.Value) == bowTie && d.Letter.Content.Headers[0].Key == "traceparent", "content %+v", d.Letter.Content)
	expect.That(t, d.Decode == nil && strings.Contains(string(d.Feature), `"id":"a"`), "feature %s, %v", d.Feature, d.Decode)
	expect.That(t, !d.Verdict.Passes && d.Verdict.Code == classify.CodeGeometryInvalid && d.Verdict.Message != "", "verdict %+v", d.Verdict)
}

func TestShow_says_why_bytes_cannot_be_decoded(t *testing.T) {
	tomb := letter(0, "tomb", "")
	tomb.Value = nil
	s := open(t, letter(0, "broken", `{"type":`), tomb)
	d, err := s.Show(t.Context(), "broken")
	expect.That(t, err == nil && d.Decode != nil && d.Feature == nil && d.Verdict.Code == classify.CodeTruncatedJSON, "broken: %+v, %v", d, err)
	d, err = s.Show(t.Context(), "tomb")
	expect.That(t, err == nil && d.Decode == nil && d.Feature == nil && d.Verdict.Passes, "tombstone: %+v, %v", d, err)
	_, err = s.Show(t.Context(), "nobody")
	expect.That(t, errors.Is(err, dlqindex.ErrNoLetter), "unknown id: %v", err)
}

func TestService_names_a_missing_topic(t *testing.T) {
	cfg := *open(t).cfg
	cfg.Topics.DLQStatus = "nowhere"
	s := openDLQ(t, &cfg)
	err := s.Letters(t.Context(), dlqindex.Query{}, func(deadletters.Letter) error { return context.Canceled })
	expect.That(t, errors.Is(err, kafka.ErrNoTopic), "got %v", err)
}

// A dead letter that prune removes from the topics leaves the index, even if the index reads the tombstone too late;
// a pending one that retention deleted stays visible.
func TestIndex_S4_7_forgets_what_was_pruned(t *testing.T) {
	long := start.AddDate(0, 0, -31)
	state := func(id string, status deadletters.Status, at time.Time) *kgo.Record {
		return deadletters.State{ID: id, Status: status, At: at}.Record("features.dlq-status", 0)
	}
	s := open(t, letter(0, "pruned", square), letter(0, "missed", square), letter(0, "lately", square), letter(0, "lost", square), letter(0, "there", square),
		state("pruned", deadletters.Reprocessed, long), state("missed", deadletters.Discarded, long), state("lately", deadletters.Discarded, start), state("there", deadletters.Discarded, long))
	must.Equal(t, len(listed(t, s, false)), 5, "dead letters")
	cut(t, s, 0, 4)
	put(t, s, &kgo.Record{Topic: "features.dlq-status", Key: []byte("pruned")}) // of the other, compaction removed the tombstone as well
	got := listed(t, s, true)
	expect.That(t, slices.Equal(got, []string{"lately", "lost"}), "gone: %v", got)
	got = listed(t, s, false)
	expect.That(t, slices.Equal(got, []string{"there"}), "there: %v", got)
	stats, err := s.Stats(t.Context())
	expect.That(t, err == nil && stats.Letters == 1 && stats.Lost == 1, "%+v, %v", stats.Stats, err)
	found, err := s.Index().Check(t.Context())
	expect.That(t, err == nil && found.Total == 0, "%+v, %v", found, err)
}

// The hops are the audit events about the dead letter's first position, and about no other.
func TestShow_S2_5_tells_the_hops_of_a_letter(t *testing.T) {
	l := letter(1, "a", square)
	of := func(source string, decision audit.Decision, attempt int, before time.Duration) *kgo.Record {
		e := audit.Event{Time: start.Add(-before), Pipeline: "features", Source: source, Decision: decision, Attempt: attempt}
		r := must.Get(e.Record("features.audit", 1))(t)
		r.Timestamp = e.Time
		return r
	}
	own, other := "features/1/40", "features/1/41"
	s := open(t, l,
		of(own, audit.Retried, 9, 3*time.Hour), // before the dead letter: another topic of that name
		of(own, audit.Retried, 1, 2*time.Hour), of(other, audit.Retried, 1, 2*time.Hour),
		&kgo.Record{Topic: "features.audit", Partition: 1, Value: []byte("{"), Timestamp: start.Add(-90 * time.Minute)},
		of(own, audit.DeadLettered, 2, time.Hour), of(other, audit.DeadLettered, 2, time.Hour),
		of(own, audit.StateChanged, 0, 0), // its state changed then
		deadletters.State{ID: "a", Status: deadletters.Discarded, At: start}.Record("features.dlq-status", 1))
	d, err := s.Show(t.Context(), "a")
	must.That(t, err == nil && d.HopsErr == nil, "%v, %v", err, d.HopsErr)
	var got []string
	for _, e := range d.Hops {
		got = append(got, fmt.Sprintf("%s %d", e.Decision, e.Attempt))
	}
	want := []string{"retried 1", "dead_lettered 2", "state_changed 0"}
	expect.That(t, slices.Equal(got, want), "hops %q, want %q", got, want)
	s.cfg.Topics.Audit = "nowhere"
	d, err = s.Show(t.Context(), "a")
	expect.That(t, err == nil && d.HopsErr != nil && d.Letter.ID == "a", "without an audit topic: %v, %v", err, d.HopsErr)
}

func TestExport_csv_runs_no_formula(t *testing.T) {
	l := deadletters.Decode(&kgo.Record{Key: []byte("=HYPERLINK(1)"), Value: []byte("+1"), Headers: []kgo.RecordHeader{
		{Key: "x-original-topic", Value: []byte("t")}, {Key: "x-error-message", Value: []byte("@SUM(A1)\n\"quoted\"")},
	}}, true)
	var out bytes.Buffer
	e := newCSVExporter(&out)
	for _, step := range []func() error{e.begin, func() error { return e.letter(&l, nil) }, e.end} {
		must.Do(t, step())
	}
	rows, err := csv.NewReader(&out).ReadAll()
	must.That(t, err == nil && len(rows) == 2, "%d rows, %v", len(rows), err)
	cell := func(name string) string { return rows[1][slices.Index(rows[0], name)] }
	if cell("key") != "'=HYPERLINK(1)" || cell("value") != "'+1" || cell("message") != "'@SUM(A1)\n\"quoted\"" {
		t.Errorf("%q", rows[1])
	}
}

// The limits of S4-7: more than 100 of one pipeline that died today and are pending, or more than
// 100,000 that are pending at all.
func TestStats_S4_7_says_when_too_many_are_pending(t *testing.T) {
	today, yesterday := start.Format(time.DateOnly), start.AddDate(0, 0, -1).Format(time.DateOnly)
	day := func(day, pipeline, code string, letters int) dlqindex.DayCount {
		return dlqindex.DayCount{Day: day, Pipeline: pipeline, Code: code, Letters: letters}
	}
	for name, c := range map[string]struct {
		pending []dlqindex.DayCount
		want    []string // words of each warning
	}{
		"none":                           {},
		"as many as are tolerated today": {[]dlqindex.DayCount{day(today, "parcels", "timeout", 60), day(today, "parcels", "wrong_type", 40)}, nil},
		"one more":                       {[]dlqindex.DayCount{day(today, "parcels", "timeout", 60), day(today, "parcels", "wrong_type", 41)}, []string{"101 dead letters of pipeline parcels"}},
		"of two pipelines":               {[]dlqindex.DayCount{day(today, "parcels", "timeout", 100), day(today, "roads", "timeout", 100)}, nil},
		"each of two":                    {[]dlqindex.DayCount{day(today, "parcels", "timeout", 101), day(today, "roads", "timeout", 102)}, []string{"parcels", "102 dead letters of pipeline roads"}},
		"another day":                    {[]dlqindex.DayCount{day(yesterday, "parcels", "timeout", ManyInAll)}, nil},
		"one more in all":                {[]dlqindex.DayCount{day(yesterday, "parcels", "timeout", ManyInAll), day(yesterday, "roads", "timeout", 1)}, []string{"100001 dead letters are pending"}},
		"one more in all, many today":    {[]dlqindex.DayCount{day(today, "parcels", "timeout", ManyInAll+1)}, []string{"100001 dead letters are pending", "100001 dead letters of pipeline parcels"}},
	} {
		got := warnings(&Stats{Stats: dlqindex.Stats{Pending: c.pending}, Retention: Retention{Known: true, Time: -1, Bytes: -1}}, start)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, words := range c.want {
			if !strings.Contains(got[i], words) {
				t.Errorf("%s: %q, want %q", name, got[i], words)
			}
		}
	}
}

// A topic that keeps its records indefinitely says -1, as Kafka does, and not 0, which would be at once.
func TestStats_S4_6_kept_for_ever_is_minus_one(t *testing.T) {
	for want, kept := range map[int64]time.Duration{-1: -1, 0: 0, 1500: 1500 * time.Millisecond} {
		got := NewStatsJSON(Stats{Retention: Retention{Known: true, Time: kept, Bytes: -1}}, start).Retention
		expect.That(t, got.Milliseconds != nil && *got.Milliseconds == want, "%s: %v, want %d", kept, got, want)
	}
}

// SHARE is the number of dead letters of a group for each record that the source topic received in the same time.
func TestGroups_S4_6_share_of_the_traffic(t *testing.T) {
	var records []*kgo.Record
	for i := range 8 {
		records = append(records, &kgo.Record{Topic: "features", Partition: int32(i % 3), Value: []byte("{}"), Timestamp: start.Add(time.Duration(i-8) * time.Hour)})
	}
	s := open(t, append(records, letter(0, "a", square), letter(1, "b", bowTie))...)
	for name, c := range map[string]struct {
		f    deadletters.Filter
		want float64
	}{
		"of all": {deadletters.Filter{}, 0.25}, "one of them": {deadletters.Filter{IDs: []string{"a"}}, 0.125},
		"of the last four": {deadletters.Filter{Since: start.Add(-4 * time.Hour)}, 0.5},
		"until the end":    {deadletters.Filter{Until: start.Add(time.Hour)}, 0.25},
		"no more than all": {deadletters.Filter{Since: start.Add(-time.Hour), Until: start}, 1},
	} {
		groups, err := s.Groups(t.Context(), dlqindex.Query{Filter: c.f})
		expect.That(t, err == nil && len(groups) == 1 && groups[0].Share == c.want, "%s: %+v, %v, want %v", name, groups, err, c.want)
	}
	offsets := kadm.Offsets{} // the consumer has consumed two of the eight records
	offsets.AddOffset("features", 0, 2, -1)
	must.Do(t, s.admin.CommitAllOffsets(t.Context(), s.cfg.Source.Group, offsets))
	groups, err := s.Groups(t.Context(), dlqindex.Query{Filter: deadletters.Filter{IDs: []string{"a"}}})
	expect.That(t, err == nil && groups[0].Share == 0.5, "of the two records that were consumed: %+v, %v", groups, err)
	s.source.Status = "" // of other software: its source topics are unknown
	expect.Equal(t, s.traffic(t.Context(), time.Time{}, time.Time{}), 0, "traffic of a DLQ of other software")
}

// If the retention cannot be read, the statistics fail: with unknown retention, a scheduler would get no warning
// about it.
func TestStats_fails_if_the_settings_cannot_be_read(t *testing.T) {
	s := open(t)
	broken := must.Get(kgo.NewClient())(t)
	broken.Close()
	s.admin = kadm.NewClient(broken)
	_, err := s.Stats(t.Context())
	expect.That(t, err != nil && strings.Contains(err.Error(), "read the settings of features.dlq: "), "%v", err)
	s.away.Store(true)
	stats, err := s.Stats(t.Context())
	expect.That(t, err == nil && !stats.Retention.Known, "while no broker answers: %+v, %v", stats.Retention, err)
}

// Settings that may not be read leave the retention unknown.
func TestStats_without_the_right_to_read_settings(t *testing.T) {
	broker := fakekafka.Start(t, kfake.SeedTopics(3, "features", "features.dlq", "features.dlq-status", "features.audit"))
	broker.ControlKey(int16(kmsg.DescribeConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		answer := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, asked := range r.(*kmsg.DescribeConfigsRequest).Resources {
			one := kmsg.NewDescribeConfigsResponseResource()
			one.ResourceType, one.ResourceName, one.ErrorCode = asked.ResourceType, asked.ResourceName, kerr.TopicAuthorizationFailed.Code
			answer.Resources = append(answer.Resources, one)
		}
		return answer, nil, true
	})
	s := openDLQ(t, configure(t, broker.ListenAddrs()))
	stats, err := s.Stats(t.Context())
	expect.That(t, err == nil && !stats.Retention.Known, "%+v, %v", stats.Retention, err)
}

// Each fetch asks the broker for no more than its run: dead letters far apart are fetched one by one.
func TestRunsOf_splitWhereAGapIsWide(t *testing.T) {
	var ordered []*deadletters.Letter
	for _, at := range [][2]int64{{0, 1}, {0, 2}, {0, 2 + wideGap}, {0, 3 + 2*wideGap}, {1, 5 + 2*wideGap}, {1, 9000}} {
		ordered = append(ordered, &deadletters.Letter{DLQ: header.Position{Partition: int32(at[0]), Offset: at[1]}})
	}
	var lengths []int
	for run := range runsOf(ordered) {
		lengths = append(lengths, len(run))
	}
	expect.That(t, slices.Equal(lengths, []int{3, 1, 1, 1}), "runs of %v", lengths)
}
