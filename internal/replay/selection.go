package replay

import (
	"cmp"
	"context"
	"errors"
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
	index     *dlqindex.DLQ // as of the choice
	positions []dlqPosition // in the order of the DLQ
}

// dlqPosition is the position of a record in the DLQ.
type dlqPosition struct {
	offset    int64
	partition int32
}

func (p dlqPosition) before(l *deadletters.Letter) bool {
	return p.partition < l.DLQ.Partition || p.partition == l.DLQ.Partition && p.offset < l.DLQ.Offset
}

func (p dlqPosition) is(l *deadletters.Letter) bool {
	return p.partition == l.DLQ.Partition && p.offset == l.DLQ.Offset
}

// selectBy selects dead letters by a filter. It reads the states first, so that a dead letter that is replayed meanwhile has its
// earlier state, and never counts as pending with a later record.
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
			c.positions = append(c.positions, dlqPosition{offset, partition})
		}
	})
	slices.SortFunc(c.positions, func(a, b dlqPosition) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
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
func (s *Service) readEach(ctx context.Context, places []dlqPosition, fn func(n int, l *deadletters.Letter) error) error {
	spans := map[int32]kafka.Span{}
	for _, at := range places {
		span, known := spans[at.partition]
		if !known {
			span.Start = at.offset
		}
		spans[at.partition] = kafka.Span{Start: span.Start, End: at.offset + 1}
	}
	n := 0
	each := func(yield func(dlqPosition, error) bool) {
		for i, at := range places {
			n = i
			if !yield(at, nil) {
				return
			}
		}
	}
	return s.readAt(ctx, spans, each, func(l *deadletters.Letter) error { return fn(n, l) })
}

// wideGap is the number of offsets between two places from which on they are skipped by another fetch. One fetch
// returns as many records of 400 bytes.
const wideGap = 10_000

// errWideGap ends a scan before a wide gap.
var errWideGap = errors.New("the next place is far away")

// readAt calls fn for each position with the dead letter there; nil if its record is gone. The positions are in the
// order of the DLQ and within spans. readAt asks for the next position after fn has returned.
func (s *Service) readAt(ctx context.Context, spans map[int32]kafka.Span, places iter.Seq2[dlqPosition, error], fn func(*deadletters.Letter) error) error {
	next, stop := iter.Pull2(places)
	defer stop()
	v := &visits{next: next, fn: fn}
	err := v.advance()
	parts := s.reading().Parts(s.client, s.cfg.Topics.DLQ)
	defer parts.Close()
	for err == nil && v.more {
		p := v.at.partition
		err = parts.Letters(ctx, map[int32]kafka.Span{p: {Start: v.at.offset, End: spans[p].End}}, v.record)
		if errors.Is(err, errWideGap) {
			err = nil
			continue
		}
		for err == nil && v.more && v.at.partition == p { // the span has ended
			err = v.visit(nil)
		}
	}
	return err
}

// visits calls a function for one place after another while the records between them are read.
type visits struct {
	next func() (dlqPosition, error, bool)
	fn   func(*deadletters.Letter) error
	at   dlqPosition // the next place
	more bool        // there is a next place
}

func (v *visits) advance() (err error) {
	v.at, err, v.more = v.next()
	return err
}

func (v *visits) visit(l *deadletters.Letter) error {
	if err := v.fn(l); err != nil {
		return err
	}
	return v.advance()
}

// record visits the places up to that of a record. The error is [errWideGap] if the next place is far away.
func (v *visits) record(l *deadletters.Letter) error {
	for v.more && v.at.before(l) {
		if err := v.visit(nil); err != nil {
			return err
		}
	}
	if v.more && v.at.is(l) {
		if err := v.visit(l); err != nil {
			return err
		}
	}
	if !v.more || v.at.partition != l.DLQ.Partition || v.at.offset-l.DLQ.Offset > wideGap {
		return errWideGap
	}
	return nil
}
