package replay

import (
	"context"
	"maps"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// readEarlierFailures reads from the DLQ which dead letters of earlier calls of the replay have died again. Those
// failed in the earlier calls. Dead letters that die later count as failed in this call, whichever session reads them.
func (r *replaying) readEarlierFailures(ctx context.Context, st *states.Table) error {
	if since, has := st.ForeignSince(r.plan.ID); has && (r.sessions == 0 || r.dlqOffsets != nil) {
		next, err := r.service.states.Failures(ctx, r.plan.ID, nil, since, func(l *deadletters.Letter) {
			if r.sessions == 0 || l.DLQ.Offset < r.dlqOffsets[l.DLQ.Partition] {
				st.ApplyReported(l)
			}
		})
		if err != nil {
			return err
		}
		if r.sessions == 0 {
			r.dlqOffsets = next
		}
	}
	r.outcomes.Foreign.Next = maps.Clone(r.dlqOffsets)
	return nil
}

// earlier counts the dead letters that an earlier call or session of the replay put back and that have no outcome. In
// the first session, it also stores which ones had failed again; later failures count for this call.
func (r *replaying) earlier(st *states.Table) {
	before := st.Earlier(r.plan.ID)
	r.sent = before.UnderWay
	others := &r.outcomes.Foreign
	others.Sent += before.Foreign
	if before.Foreign > 0 && before.ForeignSince.Before(others.Since) {
		others.Since = before.ForeignSince
	}
	if r.sessions == 0 {
		r.failed = before.Failed
	}
}
