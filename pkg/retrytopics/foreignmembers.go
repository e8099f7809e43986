package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// ErrGroup is wrapped when the consumer group belongs to another pipeline. Its leader assigns partitions of its own
// source only, so this engine would silently get nothing.
var ErrGroup = errors.New("the consumer group belongs to another pipeline")

// checkGroup looks for group members that do not consume the engine's source. It refuses to join them; an engine that
// was in the group before them goes on and logs it. A group that cannot be described is joined: the coordinator then
// reports what is wrong.
func (e *Engine) checkGroup(ctx context.Context, adm *kadm.Client) error {
	described, err := adm.DescribeGroups(ctx, e.cfg.Group)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	foreign := foreignMembers(groupMembers(described[e.cfg.Group]), e.cfg.Source, e.cfg.Membership.Instance)
	if len(foreign) == 0 {
		return nil
	}
	err = fmt.Errorf("%w: group %s has members that do not consume %s: %s. Give each pipeline a group of its own (source.group)",
		ErrGroup, e.cfg.Group, e.cfg.Source, strings.Join(foreign, "; "))
	if e.health.wasHealthy() {
		e.cfg.Logger.WarnContext(ctx, "another pipeline has joined the consumer group; it gets no partitions", "error", err)
		return nil
	}
	return err
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
	topics     []string // subscribed topics; none if the coordinator does not tell
}

func groupMembers(group kadm.DescribedGroup) (members []groupMember) {
	for _, m := range group.Members {
		c := groupMember{name: nameOf(m), host: m.ClientHost}
		if meta, ok := m.Join.AsConsumer(); ok {
			c.topics = meta.Topics
		}
		members = append(members, c)
	}
	return members
}

// unassigned checks the group's other members when this instance has no partitions. It may have joined during a
// rebalance, in which the coordinator does not tell.
func (s *session) unassigned(ctx context.Context) {
	s.mu.Lock()
	nothing := s.told && len(s.assigned) == 0
	s.mu.Unlock()
	if !nothing {
		return
	}
	if err := s.e.checkGroup(ctx, s.adm); err != nil {
		s.mu.Lock()
		if s.fatal == nil {
			s.fatal = err
		}
		s.mu.Unlock()
	}
}

func nameOf(m kadm.DescribedGroupMember) string {
	if m.InstanceID != nil {
		return *m.InstanceID
	}
	return m.MemberID
}
