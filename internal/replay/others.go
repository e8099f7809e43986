package replay

import (
	"context"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// hearEarlier takes over what the DLQ says of letters that earlier calls of the replay put back: those that have died again failed in these
// calls. What dies from then on fails in this call, in whichever of its sessions that is heard.
func (r *replaying) hearEarlier(ctx context.Context, st *standing) error {
	if since, has := st.sentSince(r.plan.ID); has && (r.sessions == 0 || r.heard != nil) {
		next, err := r.service.listen(ctx, r.plan.ID, nil, since, func(l *deadletters.Letter) {
			if r.sessions == 0 || l.DLQ.Offset < r.heard[l.DLQ.Partition] {
				st.hear(l)
			}
		})
		if err != nil {
			return err
		}
		if r.sessions == 0 {
			r.heard = next
		}
	}
	r.outcomes.others.next = maps.Clone(r.heard)
	return nil
}

// sentSince returns when the first letter of other software was put back of which the states know no more, and whether there is one.
func (s *standing) sentSince(replayID string) (since time.Time, has bool) {
	for _, m := range s.ofReplay(replayID) {
		of := m.fate()
		if !m.has(theirs) || of != fateUnderWay && of != fateElsewhere {
			continue
		}
		if at := m.time(); !has || at.Before(since) {
			since, has = at, true
		}
	}
	return since, has
}

// earlier takes over what an earlier call or session of the replay has put back: what is under way, and, in the first session, what
// failed again. What fails from then on failed in this call.
func (r *replaying) earlier(st *standing) {
	failed := map[idKey]int{}
	others := &r.outcomes.others
	r.sent = 0
	for key, m := range st.ofReplay(r.plan.ID) {
		of := m.fate()
		if of == fateElsewhere && r.service.alone {
			of = fateUnderWay // nobody says more of it than that it dies again
		}
		switch of {
		case fateUnderWay:
			r.sent++
			if m.has(theirs) {
				others.sent++
				if at := m.time(); at.Before(others.since) {
					others.since = at
				}
			}
		case fateFailedAgain:
			failed[key] = int(m.count)
		default:
		}
	}
	if r.sessions == 0 {
		r.failed = failed
	}
}

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
