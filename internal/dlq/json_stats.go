package dlq

import (
	"time"

	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// StatsJSON counts the dead letters of a DLQ.
type StatsJSON struct {
	DLQ       string              `json:"dlq"`
	Letters   int                 `json:"letters"`
	Statuses  map[string]int      `json:"statuses"`
	PutBack   int                 `json:"put_back,omitempty"` // of those discarded: put back to a topic of other software, which reports no outcome
	Pending   []dlqindex.DayCount `json:"pending"`
	Lost      int                 `json:"lost"`
	Oldest    *OldestJSON         `json:"oldest_pending"`
	Retention RetentionJSON       `json:"retention"`
	Warnings  []string            `json:"warnings"`
}

// OldestJSON is the oldest pending dead letter.
type OldestJSON struct {
	ID         string `json:"id"`
	DiedAt     string `json:"died_at"` // last
	FirstDied  string `json:"first_died_at"`
	AgeSeconds int64  `json:"age_seconds"` // since its first death: a failed replay does not make it younger
	// DeletedInSeconds is how long retention keeps it at least; null if retention does not delete by time.
	DeletedInSeconds *int64 `json:"deleted_in_seconds"`
}

// RetentionJSON is how long the DLQ keeps its records.
type RetentionJSON struct {
	Milliseconds *int64 `json:"ms"` // -1 is for ever; null if it is unknown
	Bytes        *int64 `json:"bytes"`
}

// NewStatsJSON converts statistics, as of a time.
func NewStatsJSON(s Stats, now time.Time) StatsJSON {
	out := StatsJSON{
		DLQ: s.Topic, Letters: s.Letters, Statuses: map[string]int{}, PutBack: s.PutBack, Pending: s.Pending, Lost: s.Lost, Warnings: s.Warnings,
	}
	for status, n := range s.Statuses {
		out.Statuses[StatusText(status)] = n
	}
	if out.Pending == nil {
		out.Pending = []dlqindex.DayCount{}
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	if s.Retention.Known {
		ms := s.Retention.Time.Milliseconds()
		if s.Retention.Time < 0 {
			ms = -1
		}
		out.Retention = RetentionJSON{Milliseconds: &ms, Bytes: &s.Retention.Bytes}
	}
	if s.Oldest != nil {
		out.Oldest = &OldestJSON{ID: s.Oldest.ID, DiedAt: TimeText(s.Oldest.At), FirstDied: TimeText(s.Oldest.FirstAt), AgeSeconds: int64(now.Sub(s.Oldest.FirstAt) / time.Second)}
		if at := s.Retention.Deletes; !at.IsZero() {
			left := int64(max(at.Sub(now), 0) / time.Second)
			out.Oldest.DeletedInSeconds = &left
		}
	}
	return out
}
