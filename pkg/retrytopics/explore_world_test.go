//go:build !race

package retrytopics

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// world is what the brokers hold, and what an observer knows of it. A crash leaves it as it is.
type world struct {
	logs     [][]*kgo.Record // of the source, then of the tiers; nil is a transaction's marker
	commits  []commit        // of the group, by partition
	states   map[string][]byte
	ledger   [][]byte
	applied  []idempotency.Applied // by key: what the ledger's topic says last
	clock    time.Duration
	faults   int // left
	failures int // left

	fates   []policy.Outcome // by event: where it has ended; "" while it is in a partition
	tries   []int            // by event: attempts that failed and are committed
	effects [][]int          // by key: events that took effect, or said again what stands there, in their order
	holders []int            // by key: the event that holds it as a dead letter, with OnDeadLetterHoldKey; -1: none
}

// commit is what the group has committed of a partition.
type commit struct {
	offset   int64 // -1: nothing
	metadata string
}

func newWorld(h history, p *plan) *world {
	tiers, keys := len(p.tiers), p.keys
	w := &world{logs: make([][]*kgo.Record, tiers+1), states: map[string][]byte{}, faults: p.faults, failures: p.failures}
	for i := range h {
		w.logs[0] = append(w.logs[0], h.record(int64(i)))
	}
	for range w.logs {
		w.commits = append(w.commits, commit{offset: -1})
	}
	w.fates, w.tries, w.effects = make([]policy.Outcome, len(h)), make([]int, len(h)), make([][]int, keys)
	w.applied = make([]idempotency.Applied, keys)
	for range keys {
		w.holders = append(w.holders, -1)
	}
	return w
}

// clone copies what a step may change. Records, and what the effects were so far, are never changed in their places.
func (w *world) clone() *world {
	n := *w
	n.logs, n.commits, n.ledger, n.effects = slices.Clone(w.logs), slices.Clone(w.commits), slices.Clip(w.ledger), slices.Clone(w.effects)
	for i := range n.logs {
		n.logs[i] = slices.Clip(n.logs[i])
	}
	for i := range n.effects {
		n.effects[i] = slices.Clip(n.effects[i])
	}
	n.applied, n.states, n.fates, n.tries, n.holders = slices.Clone(w.applied), maps.Clone(w.states), slices.Clone(w.fates), slices.Clone(w.tries), slices.Clone(w.holders)
	return &n
}

// eventOf gives which event a record of a partition is.
func eventOf(r *kgo.Record) int {
	if c, err := header.ParseControl(r.Headers); err == nil && c.HasSource {
		return int(c.Source.Offset)
	}
	return int(r.Offset)
}

// done says whether the group's commit of a partition says that the record at an offset is finished.
func (c commit) done(spans []offsets.Span, offset int64) bool {
	return offset < c.offset || slices.ContainsFunc(spans, func(s offsets.Span) bool { return s.First <= offset && offset <= s.Last })
}

// ahead reads the metadata of a commit.
func (c commit) ahead() ([]offsets.Span, error) {
	text, _, _ := offsets.Unseal(c.metadata)
	return offsets.DecodeFinished(c.offset, text)
}
