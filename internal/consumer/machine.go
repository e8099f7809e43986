package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// machine defers records while the machine lacks what every attempt needs: file descriptors, memory, network buffers. That is
// no record's fault, so it uses no attempt. One record probes at a time, with growing pauses; the others follow once it got
// through. Safe for concurrent use.
type machine struct {
	log *slog.Logger

	mu     sync.Mutex
	probes int // failed in a row
	until  time.Time
	told   time.Time
}

// lacks names what the machine lacks, for the log and as the name of what records wait for; "" when it lacks nothing.
func lacks(err error) string {
	for _, c := range []struct {
		errno syscall.Errno
		what  string
	}{
		{syscall.EMFILE, "file descriptors of the process"}, {syscall.ENFILE, "file descriptors of the machine"},
		{syscall.ENOMEM, "memory of the machine"}, {syscall.ENOBUFS, "network buffers of the machine"},
	} {
		if errors.Is(err, c.errno) {
			return c.what
		}
	}
	return ""
}

// Pauses between two probes.
const (
	firstProbe   = 250 * time.Millisecond
	longestProbe = 30 * time.Second
)

// guard makes UnavailableErrors of a handler's errors that say that the machine lacks something.
func (m *machine) guard(handle retrytopics.Handler) retrytopics.Handler {
	return func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := handle(ctx, r)
		what := lacks(err)
		if what == "" {
			if err == nil {
				m.passed(ctx)
			}
			return result, err
		}
		return retrytopics.Result{}, &retrytopics.UnavailableError{Dependency: what, RetryAt: m.failed(ctx, what, err), Err: err}
	}
}

// failed notes that something is lacking and gives when one record may probe. What fails before that began earlier, and is no
// further probe.
func (m *machine) failed(ctx context.Context, what string, err error) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Before(m.until) {
		return m.until
	}
	m.until = now.Add(min(firstProbe<<min(m.probes, 10), longestProbe))
	m.probes++
	if m.told.IsZero() || now.Sub(m.told) >= tellEvery {
		m.told = now
		m.log.ErrorContext(ctx, "the machine is short of a resource; the records that need it wait and use no attempts", "resource", what, "error", err)
	}
	return m.until
}

// passed notes a handler that had all it needs.
func (m *machine) passed(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probes > 0 {
		m.log.InfoContext(ctx, "the machine has enough again", "probes", m.probes)
	}
	m.probes, m.told = 0, time.Time{}
}
