package attempt

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// doubtPause is the shortest time between two log lines about one kind of doubt.
const doubtPause = 10 * time.Second

// doubts counts and logs replays that were not trusted. Its mutex guards all fields and is held for a moment only.
type doubts struct {
	mu     sync.Mutex // guards the following fields
	counts map[retrytopics.Doubt]int64
	logged map[retrytopics.Doubt]time.Time
	silent map[retrytopics.Doubt]int64 // not logged since
}

// note counts a record, and logs it unless one of its kind was logged within doubtPause.
func (d *doubts) note(log *slog.Logger, at header.Position, e *retrytopics.DoubtError, now time.Time) {
	d.mu.Lock()
	if d.counts == nil {
		d.counts, d.logged, d.silent = map[retrytopics.Doubt]int64{}, map[retrytopics.Doubt]time.Time{}, map[retrytopics.Doubt]int64{}
	}
	kind := cmp.Or(e.Doubt, retrytopics.DoubtInvalid)
	d.counts[kind]++
	last, before := d.logged[kind]
	quiet := before && now.Sub(last) < doubtPause
	skipped := d.silent[kind]
	if quiet {
		d.silent[kind]++
	} else {
		d.logged[kind], d.silent[kind] = now, 0
	}
	d.mu.Unlock()
	if quiet {
		return
	}
	log.WarnContext(context.Background(), "a record's replay headers are not trusted; it counts as a new record",
		"topic", at.Topic, "partition", at.Partition, "offset", at.Offset, "reason", string(kind), "error", e.Reason, "not_logged", skipped)
}

// Snapshot returns the counts of all doubts.
func (d *doubts) Snapshot() map[retrytopics.Doubt]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[retrytopics.Doubt]int64{}
	for _, kind := range retrytopics.Doubts() {
		out[kind] = d.counts[kind]
	}
	return out
}
