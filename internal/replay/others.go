package replay

import (
	"context"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// hearEarlier reads from the DLQ which dead letters of earlier calls of the replay have died again. Those failed in
// the earlier calls. Dead letters that die later count as failed in this call, whichever session reads them.
func (r *replaying) hearEarlier(ctx context.Context, st *standing) error {
	if since, has := st.theirs(r.plan.ID); has && (r.sessions == 0 || r.heard != nil) {
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

// earlier counts the dead letters that an earlier call or session of the replay put back and that have no outcome. In
// the first session, it also notes which ones had failed again; later failures count for this call.
func (r *replaying) earlier(st *standing) {
	failed := map[idKey]int{}
	others := &r.outcomes.others
	r.sent = 0
	for key, m := range st.ofReplay(r.plan.ID) {
		of := m.fate()
		if of == fateElsewhere && r.service.alone {
			of = fateUnderWay // without a pipeline, only dying again is reported
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

// clockSkew bounds the difference between the clocks of those who write records.
const clockSkew = 5 * time.Minute

// listen calls fn for each dead letter in the DLQ that reports a failure of the replay in other software (see
// [deadletters.ExternalOutcome]). It returns the offsets at which the next call continues. With nil offsets it begins
// at the time since, or at the beginning if since is zero.
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
