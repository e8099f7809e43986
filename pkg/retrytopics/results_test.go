package retrytopics

import (
	"context"
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/twmb/franz-go/pkg/kgo"
)

// finished makes one attempt in a context and keeps its result as a session that ends does.
func finished(ctx context.Context, t *testing.T, handler Handler) *session {
	t.Helper()
	s := unconnected(t, Config{Handler: handler})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k"), Value: []byte("v")})
	one := s.sched.next()
	w := worker{e: s.e}
	held, undone := w.attempt(ctx, one)
	must.That(t, held == nil && !undone, "the attempt does not count")
	s.keepResults([]*task{one})
	return s
}

// S4-15: a handler that fails since its partition goes away has said nothing about the record. It must not cost an attempt later.
func TestResults_S4_15_aCancelledAttemptIsNotKept(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := finished(ctx, t, func(ctx context.Context, _ *Record) (Result, error) {
		cancel()
		<-ctx.Done()
		return Result{}, ctx.Err()
	})
	_, kept := s.e.results.pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
	expect.That(t, !kept, "the cancelled attempt is kept as a failure")
}

// What a handler closed for the state of its key is judged again, and everything else that it said is kept.
func TestResults_onlyWhatDoesNotDependOnTheKeyIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		result  Result
		err     error
		handled bool
	}{
		{"delivered", Result{}, nil, true},
		{"filtered", Result{Close: policy.OutcomeFiltered}, nil, true},
		{"failed", Result{}, errors.New("503"), true},
		{"duplicate", Result{Close: policy.OutcomeDuplicate}, nil, false},
		{"superseded", Result{Close: policy.OutcomeSuperseded}, nil, false},
	} {
		s := finished(t.Context(), t, func(context.Context, *Record) (Result, error) { return c.result, c.err })
		_, kept := s.e.results.pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
		expect.That(t, kept == c.handled, "%s: kept %t, want %t", c.name, kept, c.handled)
	}
}
