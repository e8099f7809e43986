package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

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

// lettersAt calls fn for each place that next returns, with the letter that lies there; nil when its record is gone. The places come in
// the order of the DLQ and lie in spans. next is called again once fn has returned.
func (s *Service) lettersAt(ctx context.Context, spans map[int32]kafka.Span, next func() (at dlqPlace, more bool, err error), fn func(*deadletters.Letter) error) error {
	at, more, err := next()
	if err != nil {
		return err
	}
	visit := func(l *deadletters.Letter) error {
		if err := fn(l); err != nil {
			return err
		}
		at, more, err = next()
		return err
	}
	err = s.reading().Letters(ctx, s.client, s.cfg.Topics.DLQ, spans, func(l *deadletters.Letter) error {
		for more && at.before(l) {
			if err := visit(nil); err != nil {
				return err
			}
		}
		if !more || !at.is(l) {
			return nil
		}
		return visit(l)
	})
	for err == nil && more {
		err = visit(nil)
	}
	return err
}

// letters calls fn for each chosen letter in the order of the DLQ: its place in spots, and the letter; nil when its record is gone.
func (s *Service) letters(ctx context.Context, spots []spot, fn func(place int, l *deadletters.Letter) error) error {
	spans := spanSet{}
	for _, at := range spots {
		spans.add(at.partition, at.offset)
	}
	place := -1
	next := func() (dlqPlace, bool, error) {
		if place++; place == len(spots) {
			return dlqPlace{}, false, nil
		}
		return dlqPlace{spots[place].offset, spots[place].partition}, true, nil
	}
	return s.lettersAt(ctx, spans, next, func(l *deadletters.Letter) error { return fn(place, l) })
}
