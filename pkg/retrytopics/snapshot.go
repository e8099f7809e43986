package retrytopics

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// Stats returns a snapshot. Between sessions and after the last one, it is the state of the last session at its end, or
// before the group expelled it.
func (e *Engine) Stats() Stats {
	if s := e.current.Load(); s != nil {
		return s.stats(e.in.attempts.now())
	}
	return e.in.lastStats()
}

// Blocked reports why the engine does not commit at the moment: a permission that was taken away, or a topic that
// refuses the engine's records. The engine then begins no attempt and tries again by itself.
func (e *Engine) Blocked() (b Blocked, yes bool) { return e.in.health.blocked() }

// Ready reports whether the instance takes part in its group and commits its results. If not, why is the reason.
func (e *Engine) Ready() (ready bool, why string) {
	stats := e.Stats()
	if b, blocked := e.Blocked(); blocked {
		return false, "cannot commit since " + b.Since.UTC().Format(time.RFC3339) + ": " + b.Reason
	}
	switch {
	case !stats.Joined:
		return false, "not a member of the consumer group " + e.in.cfg.Group
	case stats.Silence > kafka.SilenceLimit(e.in.cfg.Membership.Session):
		return false, "the group coordinator has not answered for " + stats.Silence.Round(time.Second).String()
	case stats.Uncommitted > 2*e.in.cfg.Timing.Transaction:
		return false, "finished records have waited for their commit for " + stats.Uncommitted.Round(time.Second).String()
	}
	return true, ""
}

// leave removes the instance from its group when Run returns, unless Membership.Static keeps its partitions for it.
func (e *Engine) leave(ctx context.Context) {
	member := e.in.member.Swap(nil)
	if member == nil || e.in.cfg.Membership.Static {
		return
	}
	if err := e.in.access.Leave(ctx, e.in.cfg.Group, e.in.cfg.Membership.Instance, *member); err != nil {
		e.in.cfg.Logger.WarnContext(ctx, "cannot leave the group; its partitions move after the session timeout", "error", err)
	}
}
