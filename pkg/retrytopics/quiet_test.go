package retrytopics

import (
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// counting is a committer that begins nothing, and counts who asked.
type counting struct {
	kafka.Committer

	begun int
}

var errNotBegun = errors.New("no transaction here")

func (c *counting) Begin() error {
	c.begun++
	return errNotBegun
}

// A transaction that carries nothing makes the client hold its lock for half a second, and the next one waits for it. So none is
// begun, though a position may have moved and was committed since.
func TestCommit_beginsNoTransactionThatCarriesNothing(t *testing.T) {
	t.Parallel()
	s, counted := unconnected(t, Config{Handler: nothing}), &counting{}
	s.committer, s.lazy = counted, true
	err := s.commit(t.Context())
	expect.That(t, err == nil && counted.begun == 0, "%d transactions begun (%v), want none", counted.begun, err)
	expect.That(t, !s.lazy, "the next turn tries again")
	s.partitions[topicPartition{"in", 0}].window.Pass(0) // the position moves
	err = s.commit(t.Context())
	expect.That(t, errors.Is(err, errNotBegun) && counted.begun == 1, "%d transactions begun (%v), want one", counted.begun, err)
}
