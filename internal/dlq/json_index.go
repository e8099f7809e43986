package dlq

import (
	"time"

	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// SyncedJSON counts what was added to the index.
type SyncedJSON struct {
	Index       string  `json:"index"`
	DLQ         string  `json:"dlq"`
	Letters     int     `json:"letters"`
	States      int     `json:"states"`
	Gone        int     `json:"gone"`
	Anew        string  `json:"anew,omitempty"`
	TookSeconds float64 `json:"took_seconds"`
}

// CheckedJSON is the comparison of the index with the topics.
type CheckedJSON struct {
	Index   string   `json:"index"`
	DLQ     string   `json:"dlq"`
	Letters int      `json:"letters"`
	Faults  int      `json:"faults"`
	Found   []string `json:"found"`
}

// NewSyncedJSON converts the result of [dlqindex.Index.Sync] or [dlqindex.Index.Rebuild].
func (s *Service) NewSyncedJSON(done dlqindex.Synced) SyncedJSON {
	return SyncedJSON{
		Index: s.index.Place(), DLQ: s.Topic(), Letters: done.Letters, States: done.States, Gone: done.Gone, Anew: done.Anew,
		TookSeconds: done.Took.Round(time.Millisecond).Seconds(),
	}
}

// NewCheckedJSON converts the result of [dlqindex.Index.Check].
func (s *Service) NewCheckedJSON(found dlqindex.Checked) CheckedJSON {
	return CheckedJSON{Index: s.index.Place(), DLQ: s.Topic(), Letters: found.Letters, Faults: found.Total, Found: append([]string{}, found.Faults...)}
}
