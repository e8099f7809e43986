package replay

import (
	"cmp"
	"context"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// choice is which records of the DLQ a filter selects: of each letter the last record.
type choice struct {
	standing *standing
	newest   *newest
	ends     map[int32]int64
	spots    []spot             // in the order of the DLQ
	twins    map[int]int        // of a plan's letters that can go back: place in spots -> that of the one that stands for it (see twinsOf)
	to       destination        // of a plan's letters
	ids      idList             // of letters that can go back
	passed   map[idKey]struct{} // letters that another filter selects
}

// spot is where a selected letter lies.
type spot struct {
	at        int64 // when it died, Unix milliseconds
	offset    int64
	source    int64      // offset of the source at which it was first read
	content   contentKey // zero unless it can go back
	key       idempotency.KeyHash
	partition int32
	id        uint32 // in the list of ids; of letters that can go back
}

// choose reads the DLQ once. The states come first: a letter that is replayed in between is then seen as it
// was before, never as pending with a record of later.
func (s *Service) choose(ctx context.Context, f deadletters.Filter) (*choice, error) {
	return s.chooseOf(ctx, wanted{match: f.Match, limit: f.Limit})
}

// wanted says which letters are chosen.
type wanted struct {
	match   func(*deadletters.Letter) bool
	limit   int                                       // the oldest so many; 0 is all
	watched string                                    // an operation whose letters are told apart (see [standing]); "" is none
	passed  deadletters.Filter                        // letters to note besides; the zero one notes none
	goes    func(*deadletters.Letter, *standing) bool // whether one can go back; nil when that does not matter
}

// chooseOf is choose that also notes which letters a second filter selects, and what tells the contents of those apart that
// can go back.
func (s *Service) chooseOf(ctx context.Context, want wanted) (*choice, error) {
	st, err := s.watchStanding(ctx, want.watched)
	if err != nil {
		return nil, err
	}
	spans, err := kafka.Spans(ctx, s.client, s.cfg.Topics.DLQ)
	if err != nil {
		return nil, err
	}
	c := &choice{standing: st, ends: map[int32]int64{}, passed: map[idKey]struct{}{}}
	for p, span := range spans {
		c.ends[p] = span.End
	}
	last := lastSpots{places: map[idKey]uint32{}}
	err = s.reading().Letters(ctx, s.client, s.cfg.Topics.DLQ, spans, func(l *deadletters.Letter) error {
		st.join(l)
		if len(want.passed.Statuses) > 0 && want.passed.Match(l) {
			c.passed[keyOf(l.ID)] = struct{}{}
		}
		if want.match(l) {
			last.put(keyOf(l.ID), c.spot(l, want.goes != nil && want.goes(l, st)))
		} else {
			last.remove(l.ID) // an earlier record of the letter matched, the one that counts does not
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.spots = last.all()
	c.limit(want.limit)
	return c, nil
}

// lastSpots keeps the last spot of each letter, in half of what a map of spots would take.
type lastSpots struct {
	places map[idKey]uint32 // in spots
	spots  []spot
}

func (s *lastSpots) put(id idKey, at spot) {
	if place, known := s.places[id]; known {
		s.spots[place] = at
		return
	}
	s.places[id] = uint32(len(s.spots))
	s.spots = append(s.spots, at)
}

func (s *lastSpots) remove(id string) {
	if len(s.places) == 0 {
		return
	}
	key := keyOf(id)
	if place, known := s.places[key]; known {
		s.spots[place].partition = -1
		delete(s.places, key)
	}
}

func (s *lastSpots) all() []spot {
	return slices.DeleteFunc(s.spots, func(at spot) bool { return at.partition < 0 })
}

func (c *choice) spot(l *deadletters.Letter, goes bool) spot {
	at := spot{at: l.At.UnixMilli(), offset: l.DLQ.Offset, key: l.KeyHash(), partition: l.DLQ.Partition}
	if goes && l.Control.HasSource {
		source := l.Control.Source
		at.source, at.content, at.id = source.Offset, newContentKey(l.ContentHash+partOf(l.ID), at.key, source), c.ids.add(l.ID, source.Offset)
	}
	return at
}

// limit keeps the n letters that died first, and puts what is kept into the order of the DLQ.
func (c *choice) limit(n int) {
	if n > 0 && len(c.spots) > n {
		slices.SortFunc(c.spots, func(a, b spot) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
		})
		c.spots = slices.Clip(c.spots[:n])
	}
	slices.SortFunc(c.spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
}

// spanSet is, for each partition, the smallest span that holds some offsets.
type spanSet map[int32]kafka.Span

func (s spanSet) add(partition int32, offset int64) {
	span, ok := s[partition]
	if !ok {
		span = kafka.Span{Start: offset, End: offset + 1}
	}
	s[partition] = kafka.Span{Start: min(span.Start, offset), End: max(span.End, offset+1)}
}
