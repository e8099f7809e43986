package deadletters

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// Place is the position of a record in the DLQ.
type Place struct {
	Partition int32
	Offset    int64
}

// Compare orders places as the DLQ is read: by partition, then by offset.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Partition, other.Partition), cmp.Compare(p.Offset, other.Offset))
}

// before reports whether a record is after the place in its partition, or belongs to a later partition.
func (p Place) before(l *Letter) bool { return p.Compare(Place{l.DLQ.Partition, l.DLQ.Offset}) < 0 }

func (p Place) is(l *Letter) bool { return p == Place{l.DLQ.Partition, l.DLQ.Offset} }

// errWideGap ends a scan before a wide gap.
var errWideGap = errors.New("the next place is far away")

// At calls fn for each place with the dead letter there; nil if its record is gone. The places are in order (see
// [Place.Compare]) and within spans. At skips more than gap offsets between two places by another fetch. It asks for the
// next place after fn has returned.
func (p *Parts) At(ctx context.Context, spans map[int32]kafka.Span, places iter.Seq2[Place, error], gap int64, fn func(*Letter) error) error {
	next, stop := iter.Pull2(places)
	defer stop()
	v := &visits{next: next, fn: fn, gap: gap}
	err := v.advance()
	for err == nil && v.more {
		id := v.at.Partition
		err = p.Letters(ctx, map[int32]kafka.Span{id: {Start: v.at.Offset, End: spans[id].End}}, v.record)
		if errors.Is(err, errWideGap) {
			err = nil
			continue
		}
		for err == nil && v.more && v.at.Partition == id { // the span has ended
			err = v.visit(nil)
		}
	}
	return err
}

// visits calls a function for one place after another while the records between them are read.
type visits struct {
	next func() (Place, error, bool)
	fn   func(*Letter) error
	gap  int64 // offsets between two places from which on they are skipped by another fetch
	at   Place // the next place
	more bool  // there is a next place
}

func (v *visits) advance() (err error) {
	v.at, err, v.more = v.next()
	return err
}

func (v *visits) visit(l *Letter) error {
	if err := v.fn(l); err != nil {
		return err
	}
	return v.advance()
}

// record visits the places up to that of a record. The error is [errWideGap] if the next place is far away.
func (v *visits) record(l *Letter) error {
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
	if !v.more || v.at.Partition != l.DLQ.Partition || v.at.Offset-l.DLQ.Offset > v.gap {
		return errWideGap
	}
	return nil
}
