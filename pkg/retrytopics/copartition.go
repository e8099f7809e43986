package retrytopics

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// All partitions of one number are worked on by one member or by none. Two things could tear them apart while the members of a group consume different
// topics, as they do in a rolling deploy that changes the tiers:
//
//   - The leader gives a member a tier's partition that nobody had, while the others of its number are still with their former owner.
//     Such a partition is left alone until the source's partition comes with it.
//   - A static member comes back with further topics and gets its old assignment, since the coordinator does not look at what it
//     subscribes to (KIP-345), and the leader may not assign again (KIP-814). Such a member asks for a rebalance.

// A rebalance is asked for at most so often: it helps at once or, when a topic is gone, not at all.
const claimMin, claimMax = 5 * time.Second, 5 * time.Minute

// claims paces the requests for a rebalance.
type claims struct {
	next time.Time
	wait time.Duration
}

// claim asks for a rebalance when the group has given this instance only some partitions of a number.
func (s *session) claim(ctx context.Context, c *claims) {
	s.mu.Lock()
	topic := ""
	if s.told {
		topic = kafka.Lacking(s.assigned, s.e.cfg.Source, s.layout.counts)
	}
	s.mu.Unlock()
	switch now := time.Now(); {
	case topic == "":
		*c = claims{}
	case !now.Before(c.next):
		c.wait = min(max(2*c.wait, claimMin), claimMax)
		c.next = now.Add(c.wait)
		s.e.cfg.Logger.InfoContext(ctx, "the group has assigned some partitions without those of other topics with their number; asking for a rebalance", "missing", topic)
		s.committer.Client().ForceRebalance()
	}
}
