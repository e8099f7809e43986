package sink

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// firstDoubt is how long a record waits whose failure may be its own. Meanwhile others are likely to pass, which proves
// it.
const firstDoubt = time.Second

// pauses reports whether nothing can be written until a person acts: the table does not fit, the login is refused, the
// disk is full. One failure is enough to know.
func pauses(err error, classifier func(error) classify.Failure) bool {
	if isTable(err) {
		return true
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == "53100" {
		return true
	}
	return postgres.Connecting(err) && !classifier(err).Transient()
}

// Deferrable reports whether a consumer can start with an error of [Sink.Prepare]: the database does not answer, or
// refuses the login, so nothing is known of the table. Records then wait for it as they do while the consumer runs.
func Deferrable(err error) bool {
	return postgres.Connecting(err) || classify.Of(err).Transient()
}

// leave reports the result of a request to the breaker, and returns its records' error.
func (s *Sink) leave(ctx context.Context, pass breaker.Pass, err error) error {
	end := breaker.Judge(err, s.classify)
	_, row := lockedRows(err)
	switch {
	case err == nil:
	case pauses(err, s.classify):
		s.table.Store(nil)
		return s.breaker.Trip(ctx, pass, err)
	case row != nil:
		end = breaker.Success // it works for all other rows
	case s.vague(err) && pass.Probe:
		end = breaker.Failure
	case s.vague(err):
		end = breaker.Ignored // until it is known whose failure it is
	}
	return s.breaker.Leave(ctx, pass, end, err)
}

// deferred turns what the table lacks for a record into a hold of that record: records that do not need it go on.
func (s *Sink) deferred(err error) error {
	if isClaim(err) {
		return classify.WithClass(classify.RetryBackoff, err) // the row may become free: a delete is on its way
	}
	lack, is := errors.AsType[*lackError](err)
	if !is || isHeld(err) {
		return err
	}
	s.lacks.warn(lack)
	return &retrytopics.UnavailableError{Dependency: Dependency + "/" + lack.column, RetryAt: time.Now().Add(s.cooldown), Err: err}
}

// doubted defers a record whose failure may be the table's, and counts it for the breaker.
func (s *Sink) doubted(err error) error {
	wait := firstDoubt
	if pass, closed := s.breaker.Enter(); closed == nil {
		err = s.breaker.Leave(context.Background(), pass, breaker.Failure, err)
	} else {
		wait = s.cooldown
	}
	if isHeld(err) {
		return err
	}
	return s.breaker.Hold(wait, err)
}

func isHeld(err error) bool {
	_, held := errors.AsType[*retrytopics.UnavailableError](err)
	return held
}
