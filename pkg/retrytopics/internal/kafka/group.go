package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// heartbeat returns the period of a member's heartbeats.
func heartbeat(session time.Duration) time.Duration { return min(3*time.Second, session/3) }

// SilenceLimit returns how long the coordinator may be silent before a member is not ready: some heartbeats.
func SilenceLimit(session time.Duration) time.Duration { return 3*heartbeat(session) + time.Second }

// A rebalance is requested at most this often: it helps at once or, if a topic is missing, not at all.
const claimMin, claimMax = 5 * time.Second, 5 * time.Minute

// Claims decides when a member asks for a rebalance, because the group has given it only some partitions of a number.
//
// One member works on all partitions of a number, or none does. Two things could separate these partitions while the
// members of a group consume different topics, as they do in a rolling deploy that changes the tiers:
//
//   - The leader assigns to a member a tier's partition that no member owned, while the others of its number are still with their
//     former owner. The member ignores such a partition until the source's partition comes with it.
//   - A static member comes back with further topics and gets its old assignment: the coordinator ignores its
//     subscription (KIP-345), and the leader may not assign again (KIP-814). Such a member asks for a rebalance.
type Claims struct {
	next time.Time
	wait time.Duration
}

// Due reports whether to ask now for the missing partitions of a topic. The topic is "" if nothing is missing.
func (c *Claims) Due(topic string, now time.Time) bool {
	switch {
	case topic == "":
		*c = Claims{}
		return false
	case now.Before(c.next):
		return false
	}
	c.wait = min(max(2*c.wait, claimMin), claimMax)
	c.next = now.Add(c.wait)
	return true
}

// ErrForeignGroup is wrapped when the consumer group belongs to another pipeline. Its leader assigns partitions of its
// own source only, so an engine would silently get nothing.
var ErrForeignGroup = errors.New("the consumer group belongs to another pipeline")

// CheckGroup refuses a group with members that do not consume a source. instance is the name of the asking one. A group
// that cannot be described is accepted: the coordinator then reports what is wrong.
func CheckGroup(ctx context.Context, adm *kadm.Client, group, source, instance string) error {
	described, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	foreign := foreignMembers(groupMembers(described[group]), source, instance)
	if len(foreign) == 0 {
		return nil
	}
	return fmt.Errorf("%w: group %s has members that do not consume %s: %s. Give each pipeline a group of its own (source.group)",
		ErrForeignGroup, group, source, strings.Join(foreign, "; "))
}

// foreignMembers returns the group members that do not consume a source, and what they consume. It skips the engine's
// own instance from before a rename of its source, and members without known topics, as during a rebalance. It is pure.
func foreignMembers(group []groupMember, source, instance string) (foreign []string) {
	for _, m := range group {
		if m.name == instance || len(m.topics) == 0 || slices.Contains(m.topics, source) {
			continue
		}
		foreign = append(foreign, fmt.Sprintf("%s on %s consumes %s", m.name, m.host, strings.Join(m.topics, ", ")))
	}
	return foreign
}

// groupMember is a member of the group, as its coordinator describes it.
type groupMember struct {
	name, host string
	topics     []string // subscribed topics; none if the coordinator does not report them
}

func groupMembers(group kadm.DescribedGroup) (members []groupMember) {
	for _, m := range group.Members {
		c := groupMember{name: memberName(m), host: m.ClientHost}
		if meta, ok := m.Join.AsConsumer(); ok {
			c.topics = meta.Topics
		}
		members = append(members, c)
	}
	return members
}

// memberName returns the name of a member's instance, or its member ID.
func memberName(m kadm.DescribedGroupMember) string {
	if m.InstanceID != nil {
		return *m.InstanceID
	}
	return m.MemberID
}
