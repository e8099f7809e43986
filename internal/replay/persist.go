package replay

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

const (
	brokerPause  = 500 * time.Millisecond // before a lost broker is asked again
	longestPause = 5 * time.Second
	fencedTries  = 20 // of one command, by others that gave way
)

// persist runs sessions until one ends otherwise than by the loss of the broker. Each starts by taking over from the one
// before, which settles what that left open. The lease is held over all of them; the caller releases it.
func (s *Service) persist(ctx context.Context, l *lease, session func(context.Context) error, lostBroker func(error)) error {
	ctx, l.end = context.WithCancelCause(ctx)
	defer l.end(nil)
	fenced := 0
	for wait := brokerPause; ; {
		began := time.Now()
		err := session(ctx)
		if cause := context.Cause(ctx); err != nil && ends(cause) {
			return cause
		}
		if errors.Is(err, ErrLeased) && l.state.waits(time.Now()) {
			continue // another one that waited was faster
		}
		if errors.Is(err, ErrFenced) && ctx.Err() == nil {
			again, named := l.fenced(ctx, err)
			if err = named; again && fenced < fencedTries {
				fenced++ // the other one has seen that this one is at work, and changed nothing
				s.log.Info("another replayer started and gave way; going on", "error", err)
				continue
			}
			return err
		}
		if err == nil || ctx.Err() != nil || !lost(err) {
			return err
		}
		if time.Since(began) > longestPause {
			wait = brokerPause // it was there for a while
		}
		s.log.Warn("the broker is lost; waiting for it", "error", err, "again_in", wait)
		lostBroker(err)
		if paused := kafka.Pause(ctx, wait); paused != nil {
			if cause := context.Cause(ctx); ends(cause) {
				return cause
			}
			return err
		}
		wait = min(2*wait, longestPause)
	}
}

// ends reports whether a context was cancelled by the lease of the command (see [lease.renewals] and [job.hear]).
func ends(cause error) bool {
	return isCancelled(cause) || errors.Is(cause, errUnsigned) || errors.Is(cause, ErrFenced)
}

// lost reports whether a new session can do better: nobody answered, or not in time, or the cluster is moving its
// partitions. What a broker refuses in so many words is not lost.
func lost(err error) bool {
	switch {
	case errors.Is(err, ErrFenced) || errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, errLost), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return true
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return ke.Retriable
	}
	// A broker that goes down while it is asked closes the connection, which looks like one that wants SASL.
	_, closed := errors.AsType[*kgo.ErrFirstReadEOF](err)
	return closed || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || kgo.IsRetryableBrokerErr(err)
}
