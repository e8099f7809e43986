package dlq

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
		"none":                        {},
		"as many as may be today":     {[]dlqindex.DayCount{day(today, "parcels", "timeout", 60), day(today, "parcels", "wrong_type", 40)}, nil},
		"one more":                    {[]dlqindex.DayCount{day(today, "parcels", "timeout", 60), day(today, "parcels", "wrong_type", 41)}, []string{"101 dead letters of pipeline parcels"}},
		"of two pipelines":            {[]dlqindex.DayCount{day(today, "parcels", "timeout", 100), day(today, "roads", "timeout", 100)}, nil},
		"each of two":                 {[]dlqindex.DayCount{day(today, "parcels", "timeout", 101), day(today, "roads", "timeout", 102)}, []string{"parcels", "102 dead letters of pipeline roads"}},
		"another day":                 {[]dlqindex.DayCount{day(yesterday, "parcels", "timeout", ManyInAll)}, nil},
		"one more in all":             {[]dlqindex.DayCount{day(yesterday, "parcels", "timeout", ManyInAll), day(yesterday, "roads", "timeout", 1)}, []string{"100001 dead letters are pending"}},
		"one more in all, many today": {[]dlqindex.DayCount{day(today, "parcels", "timeout", ManyInAll+1)}, []string{"100001 dead letters are pending", "100001 dead letters of pipeline parcels"}},
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

// Counted from topics to words: 101 letters of today, one of them discarded, then one more.
func TestStats_S4_7_counts_the_pending_of_today(t *testing.T) {
	var records []*kgo.Record
	for i := range ManyPerDay + 1 {
		records = append(records, letter(int32(i%3), fmt.Sprint("l", i), square))
	}
	s := open(t, append(records, deadletters.State{ID: "l7", Status: deadletters.Discarded, At: start}.Record("features.dlq-status", 1))...)
	stats, err := s.Stats(t.Context())
	if err != nil || slices.ContainsFunc(stats.Warnings, func(w string) bool { return strings.Contains(w, "today") }) {
		t.Errorf("%d pending: %q, %v", stats.Statuses[deadletters.Pending], stats.Warnings, err)
	}
	put(t, s, letter(0, "one more", square))
	if stats, err = s.Stats(t.Context()); err != nil || len(stats.Warnings) == 0 || !strings.Contains(stats.Warnings[0], "101 dead letters of pipeline features died today") {
		t.Errorf("%d pending: %q, %v", stats.Statuses[deadletters.Pending], stats.Warnings, err)
	}
}

// A topic that keeps its records for ever says -1, as Kafka does, and not 0, which would be at once.
func TestStats_S4_6_kept_for_ever_is_minus_one(t *testing.T) {
	for want, kept := range map[int64]time.Duration{-1: -1, 0: 0, 1500: 1500 * time.Millisecond} {
		got := NewStatsJSON(Stats{Retention: Retention{Known: true, Time: kept, Bytes: -1}}, start).Retention
		expect.That(t, got.Milliseconds != nil && *got.Milliseconds == want, "%s: %v, want %d", kept, got, want)
	}
}

// SHARE is the letters of a group for each record that the source topic got in the same time.
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
	offsets := kadm.Offsets{} // the consumer has taken two records of the eight
	offsets.AddOffset("features", 0, 2, -1)
	must.Do(t, s.admin.CommitAllOffsets(t.Context(), s.cfg.Source.Group, offsets))
	groups, err := s.Groups(t.Context(), dlqindex.Query{Filter: deadletters.Filter{IDs: []string{"a"}}})
	expect.That(t, err == nil && groups[0].Share == 0.5, "of the two records that were consumed: %+v, %v", groups, err)
	s.source.Status = "" // of other software: which topics it serves nobody says
	expect.Equal(t, s.traffic(t.Context(), time.Time{}, time.Time{}), 0, "traffic of a DLQ of other software")
}
