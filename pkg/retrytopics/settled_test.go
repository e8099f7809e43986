package retrytopics

import (
	"context"
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// clearing is a committer whose clear fails after a look at the session.
type clearing struct {
	kafka.Committer
	look func()
}

var errClear = errors.New("cannot clear")

func (c clearing) Clear(context.Context) error {
	c.look()
	return errClear
}

// While the turn after a rebalance is under way, its partitions have no memory yet: a bounded run does not end there.
func TestRunUntilEnd_S4_14_endsNotWithinARebalance(t *testing.T) {
	e := &Engine{}
	var settled []bool
	look := func() { settled = append(settled, e.settled()) }
	s := &session{e: e, told: true, committer: clearing{look: look}}
	e.current.Store(s)
	look()
	s.rebalanced = true
	look()
	_, err := s.afterRebalance(t.Context())
	must.That(t, errors.Is(err, errClear), "%v", err)
	look()
	for i, want := range []bool{true, false, false, false} {
		if settled[i] != want {
			t.Errorf("settled %v", settled)
			break
		}
	}
}
