package dlq

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
		if err != nil || len(groups) != 1 || groups[0].Share != c.want {
			t.Errorf("%s: %+v, %v, want %v", name, groups, err, c.want)
		}
	}
	offsets := kadm.Offsets{} // the consumer has taken two records of the eight
	offsets.AddOffset("features", 0, 2, -1)
	must.Do(t, s.admin.CommitAllOffsets(t.Context(), s.cfg.Source.Group, offsets))
	if groups, err := s.Groups(t.Context(), dlqindex.Query{Filter: deadletters.Filter{IDs: []string{"a"}}}); err != nil || groups[0].Share != 0.5 {
		t.Errorf("of the two records that were consumed: %+v, %v", groups, err)
	}
	s.source.Status = "" // of other software: which topics it serves nobody says
	if n := s.traffic(t.Context(), time.Time{}, time.Time{}); n != 0 {
		t.Errorf("traffic of a DLQ of other software: %d", n)
	}
}
