package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// machine defers records while the machine lacks resources that every attempt needs: file descriptors, memory,
// network buffers. No record is the cause, so it uses no attempt. One record probes at a time, with growing pauses;
// the others follow once it succeeds. Safe for concurrent use.
type machine struct {
	log *slog.Logger

	mu     sync.Mutex
	probes int // consecutive failed ones
	until  time.Time
	logged time.Time
}

// lacks names the missing resource, for the log and as the dependency that records wait for; "" if nothing is missing.
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

// guard turns a handler's errors about missing resources into UnavailableErrors.
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

// failed records a missing resource, and returns when one record may probe. A failure before that time belongs to an
// earlier attempt and is not another probe.
func (m *machine) failed(ctx context.Context, what string, err error) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Before(m.until) {
		return m.until
	}
	m.until = now.Add(min(firstProbe<<min(m.probes, 10), longestProbe))
	m.probes++
	if m.logged.IsZero() || now.Sub(m.logged) >= tellEvery {
		m.logged = now
		m.log.ErrorContext(ctx, "a resource of the machine is exhausted; the records that need it wait and use no attempts", "resource", what, "error", err)
	}
	return m.until
}

// passed records a handler that had every resource it needs.
func (m *machine) passed(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probes > 0 {
		m.log.InfoContext(ctx, "the resource is available again", "probes", m.probes)
	}
	m.probes, m.logged = 0, time.Time{}
}

// energy is the processor time, energy and CO2 of one attempt.
type energy struct {
	measured         bool // the configuration asks for it, and the system reports processor time
	wattHours, grams float64
}

// meter converts measured processor time into energy (S3-7). The time that the process spent between two commits is
// shared evenly among the attempts of the second one, and multiplied by the watts of a busy core. CO2 is energy times
// the grid's intensity. It measures the process, not the brokers and services that it calls.
type meter struct {
	rule config.Energy
	cpu  func() (time.Duration, bool)
	last time.Duration
}

func newMeter(rule config.Energy) *meter {
	m := &meter{rule: rule, cpu: cpuTime}
	m.last, _ = m.cpu()
	return m
}

// share returns the energy of each of n attempts since the last call.
func (m *meter) share(n int) energy {
	now, ok := m.cpu()
	if !ok || m.rule.WattsPerCPU == 0 || n == 0 {
		return energy{}
	}
	seconds := (now - m.last).Seconds() / float64(n)
	m.last = now
	wattHours := seconds * m.rule.WattsPerCPU / 3600
	return energy{true, wattHours, wattHours / 1000 * m.rule.GridGramsPerKWh}
}
