package acls

import (
	"slices"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Targets are the topics that dead letters of a DLQ without a pipeline go back to.
type Targets struct {
	Topics []string
	Groups []string // consumer groups that are watched
	Local  bool     // states are kept in a directory, not in topics
}

// OfDLQ returns the least privileges of a replayer's role on a DLQ without a pipeline (see [config.LoadDLQ]). Other
// roles need none. It is pure.
func OfDLQ(c *config.Config, role Role, to Targets) []Grant {
	var g grants
	if slices.Contains(ReplayerRoles(), role) {
		g.dlqReads(c, to)
	}
	if role == RoleReplayerRead && !to.Local {
		g.topic(c.Topics.Audit, Read) // replayer audit
	}
	if role == RoleReplayerWrite {
		g.dlqWrites(c, to)
	}
	return g
}

func (g *grants) dlqReads(c *config.Config, to Targets) {
	g.topic(c.Topics.DLQ, Read, DescribeConfigs)
	g.except(c.Topics.DLQ, DescribeConfigs, Seen) // its retention
	if !to.Local {
		g.topic(c.Topics.DLQStatus, Read)
		g.topic(c.Topics.Control, Read)
	}
	for _, topic := range to.Topics {
		g.topic(topic, Read, DescribeConfigs)
		g.except(topic, DescribeConfigs, Seen)
		if len(to.Groups) == 0 && !to.Local { // reading a group's position needs Read too, and so does what a crash left open
			g.except(topic, Read, Compact)
		}
	}
	for _, group := range to.Groups {
		g.add(Group, Literal, group, Describe)
	}
}

func (g *grants) dlqWrites(c *config.Config, to Targets) {
	if !to.Local {
		for _, topic := range []string{c.Topics.DLQStatus, c.Topics.Audit, c.Topics.Control} {
			g.topic(topic, Create, Write)
		}
		g.add(TransactionalID, Literal, control.TransactionalID(c), Write) // notes on groups
	}
	g.add(TransactionalID, Literal, deadletters.TransactionalID(c.Source.Topic), Write)
	for _, topic := range to.Topics {
		g.topic(topic, Write)
	}
}
