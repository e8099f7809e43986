package replay

import (
	"context"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
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
