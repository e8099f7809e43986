package sink

import (
	"log/slog"
	"sync"
	"time"
)

// warnEvery is the time between two log lines about a column that keeps records waiting.
const warnEvery = time.Minute

// lacks logs what the table lacks for waiting records, once per warnEvery and column.
type lacks struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[string]time.Time
}

func (l *lacks) warn(e *lackError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.said[e.column]) < warnEvery {
		return
	}
	if l.said == nil {
		l.said = map[string]time.Time{}
	}
	l.said[e.column] = time.Now()
	l.log.Warn("records are deferred until the table fits; they spend no attempts", "column", e.column, "error", e)
}
