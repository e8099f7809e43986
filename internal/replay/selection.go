package replay

import (
	"context"
	"iter"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// selection is the result of a filter: the last DLQ record of each selected dead letter. The index chooses. The states
// decide what may be done with a dead letter; for an execution, the states as of the fencing.
type selection struct {
	states    *states.Table
	index     *dlqindex.DLQ       // as of the choice
	positions []deadletters.Place // in the order of the DLQ
}

// selectBy selects dead letters by a filter. It reads the states first, so that a dead letter that is replayed
// meanwhile has its earlier state, and never counts as pending with a later record.
func (s *Service) selectBy(ctx context.Context, f deadletters.Filter) (*selection, error) {
	st, err := s.states.Load(ctx)
	if err != nil {
		return nil, err
	}
	return s.selectSome(ctx, st, f, func(string) bool { return true })
}

// selectSome is selectBy with states that were read before. It keeps the selected dead letters for which some returns
// true.
func (s *Service) selectSome(ctx context.Context, st *states.Table, f deadletters.Filter, some func(id string) bool) (*selection, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	c := &selection{states: st}
	if c.index, err = index.Fresh(ctx); err != nil {
		return nil, err
	}
	err = c.index.Places(ctx, dlqindex.Query{Filter: f}, func(id string, partition int32, offset int64) {
		if some(id) {
			c.positions = append(c.positions, deadletters.Place{Partition: partition, Offset: offset})
		}
	})
	slices.SortFunc(c.positions, deadletters.Place.Compare)
	return c, err
}

// eachRead calls fn for each chosen dead letter whose record exists, after the states have the outcome that the record
// reports.
func (s *Service) eachRead(ctx context.Context, c *selection, fn func(n int, l *deadletters.Letter) error) error {
	return s.readEach(ctx, c.positions, func(n int, l *deadletters.Letter) error {
		if l == nil {
			return nil
		}
		c.states.ApplyReported(l)
		return fn(n, l)
	})
}

// readEach calls fn for each chosen dead letter in the order of the DLQ, with its index among the positions. The letter
// is nil if its record is gone.
func (s *Service) readEach(ctx context.Context, places []deadletters.Place, fn func(n int, l *deadletters.Letter) error) error {
	spans := map[int32]kafka.Span{}
	for _, at := range places {
		span, known := spans[at.Partition]
		if !known {
			span.Start = at.Offset
		}
		spans[at.Partition] = kafka.Span{Start: span.Start, End: at.Offset + 1}
	}
	n := 0
	each := func(yield func(deadletters.Place, error) bool) {
		for i, at := range places {
			n = i
			if !yield(at, nil) {
				return
			}
		}
	}
	return s.readAt(ctx, spans, each, func(l *deadletters.Letter) error { return fn(n, l) })
}

// wideGap is the number of offsets between two positions from which on they are skipped by another fetch. One fetch
// returns as many records of 400 bytes.
const wideGap = 10_000

// readAt is [deadletters.Parts.At] for the DLQ.
func (s *Service) readAt(ctx context.Context, spans map[int32]kafka.Span, places iter.Seq2[deadletters.Place, error], fn func(*deadletters.Letter) error) error {
	parts := s.reading().Parts(s.client, s.cfg.Topics.DLQ)
	defer parts.Close()
	return parts.At(ctx, spans, places, wideGap, fn)
}
