package engine

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// Stats returns a snapshot. Between sessions and after the last one, it is the state of the last session at its end, or
// before the group expelled it.
func (e *Engine) Stats() retrytopics.Stats {
	if s := e.current.Load(); s != nil {
		return s.Stats(e.in.Attempts.Now())
	}
	return e.in.LastStats()
}

// Blocked reports why the engine does not commit at the moment: a permission that was taken away, or a topic that
// refuses the engine's records. The engine then begins no attempt and tries again by itself.
func (e *Engine) Blocked() (b retrytopics.Blocked, yes bool) { return e.in.Health.Blocked() }

// Ready reports whether the instance takes part in its group and commits its results. If not, why is the reason.
func (e *Engine) Ready() (ready bool, why string) {
	stats := e.Stats()
	if b, blocked := e.Blocked(); blocked {
		return false, "cannot commit since " + b.Since.UTC().Format(time.RFC3339) + ": " + b.Reason
	}
	switch {
	case !stats.Joined:
		return false, "not a member of the consumer group " + e.in.Cfg.Group
	case stats.Silence > kafka.SilenceLimit(e.in.Cfg.Membership.Session):
		return false, "the group coordinator has not answered for " + stats.Silence.Round(time.Second).String()
	case stats.Uncommitted > 2*e.in.Cfg.Timing.Transaction:
		return false, "finished records have waited for their commit for " + stats.Uncommitted.Round(time.Second).String()
	}
	return true, ""
}

// leave removes the instance from its group when Run returns, unless Membership.Static keeps its partitions for it.
func (e *Engine) leave(ctx context.Context) {
	member := e.in.Member.Swap(nil)
	if member == nil || e.in.Cfg.Membership.Static {
		return
	}
	if err := e.in.Access.Leave(ctx, e.in.Cfg.Group, e.in.Cfg.Membership.Instance, *member); err != nil {
		e.in.Cfg.Logger.WarnContext(ctx, "cannot leave the group; its partitions move after the session timeout", "error", err)
	}
}
