package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
)

const (
	brokerPause  = 500 * time.Millisecond // before a session starts again after the loss of the broker
	longestPause = 5 * time.Second
	fencedTries  = 20 // how often others that then gave way may fence one command
	missingTries = 4  // sessions in a row without a topic: a broker that comes back may not know its topics at once
)

// persist runs sessions until one ends for another reason than the loss of the broker. Each session first settles the
// open transaction of the one before. The lease is held over all sessions; the caller releases it.
func (s *Service) persist(ctx context.Context, l *jobs.Lease, session func(context.Context) error, lostBroker func(error)) error {
	ctx, stop := l.Context(ctx)
	defer stop()
	fenced := 0
	var absent missingTopic
	for wait := brokerPause; ; {
		began := time.Now()
		err := session(ctx)
		if cause := context.Cause(ctx); err != nil && jobs.EndedBy(cause) {
			return cause
		}
		if errors.Is(err, jobs.ErrLeased) && l.StillWaits() {
			continue // another waiting replayer was faster
		}
		if errors.Is(err, jobs.ErrFenced) && ctx.Err() == nil {
			again, named := l.Fenced(ctx, err)
			if err = named; again && fenced < fencedTries {
				fenced++ // the other replayer saw that this one is running, and changed nothing
				s.log.Info("another replayer started and gave way; continuing", "error", err)
				continue
			}
			return err
		}
		if err = absent.after(err); err == nil || ctx.Err() != nil || !lost(err) {
			return err
		}
		if time.Since(began) > longestPause {
			wait = brokerPause // the broker was available for a while
		}
		s.log.Warn("the broker is lost; waiting for it", "error", err, "again_in", wait)
		lostBroker(err)
		if paused := kafka.Pause(ctx, wait); paused != nil {
			if cause := context.Cause(ctx); jobs.EndedBy(cause) {
				return cause
			}
			return err
		}
		wait = min(2*wait, longestPause)
	}
}

// missingTopic counts the sessions in a row that ended because a topic is missing.
type missingTopic int

// after returns the error of a session. It wraps errMissing once so many sessions have ended that the topic will not
// come back by itself.
func (n *missingTopic) after(err error) error {
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		*n = 0
		return err
	}
	if *n++; *n < missingTries {
		return err
	}
	return fmt.Errorf("%w: %w", errMissing, err)
}

var errMissing = errors.New("a topic is missing (`consumer topics ensure` creates those of a pipeline)")

// lost reports whether a new session may succeed: no broker answered in time, or the cluster is moving its
// partitions. A broker that refuses a request is not lost.
func lost(err error) bool {
	switch {
	case errors.Is(err, jobs.ErrFenced) || errors.Is(err, errMissing) || errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, transaction.ErrLost), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return true
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return ke.Retriable
	}
	// A broker that shuts down during a request closes the connection. The client takes that for a broker that
	// requires SASL.
	_, closed := errors.AsType[*kgo.ErrFirstReadEOF](err)
	return closed || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || kgo.IsRetryableBrokerErr(err)
}
