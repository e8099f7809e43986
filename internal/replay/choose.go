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

// choice is the result of a filter: the last DLQ record of each selected dead letter. The index chooses. The states
// decide what may be done with a dead letter; for an execution, the states as of the fencing.
type choice struct {
	states *states.Table
	index  *dlqindex.DLQ // as of the choice
	places []dlqPlace    // in the order of the DLQ
}

// dlqPlace is the position of a record in the DLQ.
type dlqPlace struct {
	offset    int64
	partition int32
}

func (p dlqPlace) before(l *deadletters.Letter) bool {
	return p.partition < l.DLQ.Partition || p.partition == l.DLQ.Partition && p.offset < l.DLQ.Offset
}

func (p dlqPlace) is(l *deadletters.Letter) bool {
	return p.partition == l.DLQ.Partition && p.offset == l.DLQ.Offset
}

// choose chooses dead letters. It reads the states first, so that a dead letter that is replayed meanwhile has its
// earlier state, and never counts as pending with a later record.
func (s *Service) choose(ctx context.Context, f deadletters.Filter) (*choice, error) {
	st, err := s.states.Load(ctx)
	if err != nil {
		return nil, err
	}
	return s.chooseOf(ctx, st, f, func(string) bool { return true })
}

// chooseOf is choose with states that were read before. It keeps the selected dead letters for which some returns
// true.
func (s *Service) chooseOf(ctx context.Context, st *states.Table, f deadletters.Filter, some func(id string) bool) (*choice, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	c := &choice{states: st}
	if c.index, err = index.Fresh(ctx); err != nil {
		return nil, err
	}
	err = c.index.Places(ctx, dlqindex.Query{Filter: f}, func(id string, partition int32, offset int64) {
		if some(id) {
			c.places = append(c.places, dlqPlace{offset, partition})
		}
	})
	slices.SortFunc(c.places, func(a, b dlqPlace) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
	return c, err
}

// known calls fn for each chosen dead letter whose record exists, after the states have the outcome that the record
// reports.
func (s *Service) known(ctx context.Context, c *choice, fn func(n int, l *deadletters.Letter) error) error {
	return s.letters(ctx, c.places, func(n int, l *deadletters.Letter) error {
		if l == nil {
			return nil
		}
		c.states.ApplyReported(l)
		return fn(n, l)
	})
}

// letters calls fn for each chosen dead letter in the order of the DLQ, with its index among the places. The letter
// is nil if its record is gone.
func (s *Service) letters(ctx context.Context, places []dlqPlace, fn func(n int, l *deadletters.Letter) error) error {
	spans := map[int32]kafka.Span{}
	for _, at := range places {
		span, known := spans[at.partition]
		if !known {
			span.Start = at.offset
		}
		spans[at.partition] = kafka.Span{Start: span.Start, End: at.offset + 1}
	}
	n := 0
	each := func(yield func(dlqPlace, error) bool) {
		for i, at := range places {
			n = i
			if !yield(at, nil) {
				return
			}
		}
	}
	return s.lettersAt(ctx, spans, each, func(l *deadletters.Letter) error { return fn(n, l) })
}

// wideGap is the number of offsets between two places from which on they are skipped by another fetch. One fetch
// returns as many records of 400 bytes.
const wideGap = 10_000

// errWideGap ends a scan before a wide gap.
var errWideGap = errors.New("the next place is far away")

// lettersAt calls fn for each place with the dead letter there; nil if its record is gone. The places are in the
// order of the DLQ and within spans. lettersAt asks for the next place after fn has returned.
func (s *Service) lettersAt(ctx context.Context, spans map[int32]kafka.Span, places iter.Seq2[dlqPlace, error], fn func(*deadletters.Letter) error) error {
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
	next func() (dlqPlace, error, bool)
	fn   func(*deadletters.Letter) error
	at   dlqPlace // the next place
	more bool     // there is a next place
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
