package retrytopics

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An instance is a static member of its group, under its name. After a crash, a lost broker or a kill it takes over its
// own membership and partitions at once; a new member would wait for the old one's session timeout. It leaves the group
// when Run returns, unless Membership.Static keeps its partitions for it.

// heartbeat returns the period of the instance's heartbeats.
func (c *Config) heartbeat() time.Duration { return min(3*time.Second, c.Membership.Session/3) }

// silenceLimit is how long the coordinator may be silent before the instance is not ready: some heartbeats.
func (c *Config) silenceLimit() time.Duration { return 3*c.heartbeat() + time.Second }

// leaveTimeout bounds the leave request.
const leaveTimeout = 2 * time.Second

// leave removes the membership. The request has the member ID besides the instance's name, so that it does not remove a
// successor of the same name.
func (e *Engine) leave(ctx context.Context) {
	member := e.member.Swap(nil)
	if member == nil || e.cfg.Membership.Static {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := e.farewell(ctx, *member); err != nil {
		e.cfg.Logger.WarnContext(ctx, "cannot leave the group; its partitions move after the session timeout", "error", err)
	}
}

func (e *Engine) farewell(ctx context.Context, member string) error {
	client, err := kgo.NewClient(e.clientOptions()...)
	if err != nil {
		return err
	}
	defer client.Close()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = e.cfg.Group, member
	who := kmsg.NewLeaveGroupRequestMember()
	who.MemberID, who.InstanceID = member, &e.cfg.Membership.Instance
	req.Members = append(req.Members, who)
	left, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	err = kerr.ErrorForCode(left.ErrorCode)
	for _, m := range left.Members {
		err = errors.Join(err, kerr.ErrorForCode(m.ErrorCode))
	}
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.FencedInstanceID) {
		return nil // another member has the name by now, or none
	}
	return err
}

// Ready reports whether the instance takes part in its group and commits its results. If not, why is the reason.
func (e *Engine) Ready() (ready bool, why string) {
	stats := e.Stats()
	if b, blocked := e.Blocked(); blocked {
		return false, "cannot commit since " + b.Since.UTC().Format(time.RFC3339) + ": " + b.Reason
	}
	switch {
	case !stats.Joined:
		return false, "not a member of the consumer group " + e.cfg.Group
	case stats.Silence > e.cfg.silenceLimit():
		return false, "the group coordinator has not answered for " + stats.Silence.Round(time.Second).String()
	case stats.Uncommitted > 2*e.cfg.Timing.Transaction:
		return false, "finished records have waited for their commit for " + stats.Uncommitted.Round(time.Second).String()
	}
	return true, ""
}
