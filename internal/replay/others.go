package replay

import (
	"context"
	"maps"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// hearEarlier reads from the DLQ which dead letters of earlier calls of the replay have died again. Those failed in
// the earlier calls. Dead letters that die later count as failed in this call, whichever session reads them.
func (r *replaying) hearEarlier(ctx context.Context, st *standing) error {
	if since, has := st.theirs(r.plan.ID); has && (r.sessions == 0 || r.heard != nil) {
		next, err := r.service.states.Failures(ctx, r.plan.ID, nil, since, func(l *deadletters.Letter) {
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
// the first session, it also stores which ones had failed again; later failures count for this call.
func (r *replaying) earlier(st *standing) {
	before := st.Earlier(r.plan.ID)
	r.sent = before.UnderWay
	others := &r.outcomes.others
	others.sent += before.Foreign
	if before.Foreign > 0 && before.ForeignSince.Before(others.since) {
		others.since = before.ForeignSince
	}
	if r.sessions == 0 {
		r.failed = before.Failed
	}
}
