package replay

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// clockSkew is how far the clocks of those who write records may lie apart.
const clockSkew = 5 * time.Minute

// listen calls fn for each letter of the DLQ from some offsets on that says of a replay that it failed in other software
// (see [deadletters.ExternalOutcome]), and gives the offsets that come next. With no offsets it begins at a time; the zero time is
// the beginning.
func (s *Service) listen(ctx context.Context, replayID string, from map[int32]int64, since time.Time, fn func(*deadletters.Letter)) (map[int32]int64, error) {
	topic := s.cfg.Topics.DLQ
	spans, err := kafka.Spans(ctx, s.client, topic)
	if err != nil {
		return from, err
	}
	if from == nil && !since.IsZero() {
		if err := s.from(ctx, topic, spans, since.Add(-clockSkew)); err != nil {
			return from, err
		}
	}
	next := map[int32]int64{}
	for p, span := range spans {
		next[p] = max(span.End, from[p])
		spans[p] = kafka.Span{Start: min(max(span.Start, from[p]), next[p]), End: next[p]}
	}
	err = s.reading().Letters(ctx, s.client, topic, spans, func(l *deadletters.Letter) error {
		if deadletters.ReportsOutcome(l) && l.Control.ReplayID == replayID {
			fn(l)
		}
		return nil
	})
	if err != nil {
		return from, err
	}
	return next, nil
}

// others is what a replay knows of its letters of other software, which only says what fails.
type others struct {
	sent  int             // put back
	since time.Time       // what they died of again lies in the DLQ from then on
	next  map[int32]int64 // offsets of the DLQ; nil before it was read
	known map[string]fate // what was heard of each
}

// open counts those of which nothing was heard.
func (o *others) open() int { return max(o.sent-len(o.known), 0) }

// take notes what was heard of a letter, and counts it: once, and a failure outranks what the consumer made of it.
func (o *others) take(state deadletters.State, counts *Outcome) {
	before, heard := o.known[state.ID]
	switch {
	case heard && (before == fateFailedAgain || before == fateFailedOften):
		return
	case heard:
		counts.add(before, "", -1)
	}
	now := fateOf(deadletters.LastOf(state), false)
	o.known[state.ID] = now
	counts.add(now, state.Reason, 1)
}
