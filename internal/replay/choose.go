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
)

// choice is which records of the DLQ a filter selects: of each letter the last record. The index chooses; what may be done with a letter
// is decided by the states, and of what is carried out by those after the fencing.
type choice struct {
	standing *standing
	index    *dlqindex.DLQ // as it was when it chose
	places   []dlqPlace    // in the order of the DLQ
}

// dlqPlace is where a record lies in the DLQ.
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

// choose chooses letters. The states are read first: a letter that is replayed in between is then seen as it was before, never as pending
// with a record of later.
func (s *Service) choose(ctx context.Context, f deadletters.Filter) (*choice, error) {
	st, err := s.loadStanding(ctx)
	if err != nil {
		return nil, err
	}
	return s.chooseOf(ctx, st, f, func(string) bool { return true })
}

// chooseOf is choose for states that were read before. Of the selected letters, some are chosen by their ids.
func (s *Service) chooseOf(ctx context.Context, st *standing, f deadletters.Filter, some func(id string) bool) (*choice, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	c := &choice{standing: st}
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

// known calls fn for each chosen letter whose record exists, once the states have its outcome.
func (s *Service) known(ctx context.Context, c *choice, fn func(n int, l *deadletters.Letter) error) error {
	return s.letters(ctx, c.places, func(n int, l *deadletters.Letter) error {
		if l == nil {
			return nil
		}
		c.standing.hear(l)
		return fn(n, l)
	})
}

// letters calls fn for each chosen letter in the order of the DLQ: its number among the places, and the letter; nil when its record is gone.
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

// wideGap is how many offsets between two places are passed over by a new fetch. One fetch has as many records of 400 bytes.
const wideGap = 10_000

// errWideGap ends a scan in front of a wide gap.
var errWideGap = errors.New("the next place is far away")

// lettersAt calls fn for each place, with the letter that lies there; nil when its record is gone. The places come in the
// order of the DLQ and lie in spans. The next place is asked for once fn has returned.
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

// visits calls a function for places, one after another, while the records between them are read.
type visits struct {
	next func() (dlqPlace, error, bool)
	fn   func(*deadletters.Letter) error
	at   dlqPlace // that is to be visited
	more bool     // there is one
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

// record visits the places up to that of a record. The error is [errWideGap] when the next one is far behind it.
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
