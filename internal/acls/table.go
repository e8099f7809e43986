package acls

import (
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/topics"
)

// Of gives the least privileges of a role, from the pipeline file. It is pure.
func Of(c *config.Config, role Role) []Grant {
	var g grants
	switch role {
	case RoleRun:
		g.run(c)
	case RoleTopics:
		for _, t := range topics.Plan(c) {
			g.topic(t.Name, Create, Describe, DescribeConfigs)
		}
	case RoleControl:
		g.control(c)
	case RoleStatus:
		g.status(c)
	case RoleGovernance:
		g.governance(c)
	case RoleReplayerRead:
		g.replayerReads(c)
	case RoleReplayerWrite:
		g.replayerReads(c)
		g.replayerWrites(c)
	}
	return g
}

// run compares the settings of all topics at its start.
func (g *grants) run(c *config.Config) {
	for _, t := range topics.Plan(c) {
		g.topic(t.Name, append(runs(c, t.Role), DescribeConfigs)...)
	}
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Read, Delete, DescribeConfigs) // tiers of an earlier configuration are drained
	g.references(c)
	g.add(Group, Literal, c.Source.Group, Read)
	if c.Delivery == config.DeliveryExactlyOnce {
		// <group>-<instance> of each instance, and <group>-control.
		g.add(TransactionalID, Prefixed, c.Source.Group+"-", Write)
	}
}

// runs gives what consumer run does with a topic besides describing it.
func runs(c *config.Config, role topics.Role) []Operation {
	switch role {
	case topics.RoleSource:
		return []Operation{Read}
	case topics.RoleTier: // what is finished is deleted from them
		return []Operation{Read, Write, Delete}
	case topics.RoleState: // also where no order is kept now: what waited under an earlier order is closed there
		return []Operation{Read, Write}
	case topics.RoleLedger:
		if c.Dedupe.Window == 0 {
			return []Operation{Describe}
		}
		return []Operation{Read, Write}
	case topics.RoleControl, topics.RoleGovernance:
		return []Operation{Read, Write}
	case topics.RoleDLQ, topics.RoleOutput, topics.RoleAudit, topics.RoleDLQStatus:
		return []Operation{Write}
	}
	return nil
}

// references reads the reference sets that are in topics.
func (g *grants) references(c *config.Config) {
	for _, set := range c.Transform.References {
		if set.Topic != "" {
			g.topic(set.Topic, Read)
		}
	}
}

func (g *grants) control(c *config.Config) {
	g.topic(c.Topics.Control, Read, Write)
	g.topic(c.Topics.Audit, Write)
	if c.Delivery == config.DeliveryExactlyOnce {
		g.add(TransactionalID, Literal, c.Source.Group+"-control", Write)
	}
}

func (g *grants) status(c *config.Config) {
	g.topic(c.Topics.Control, Read)
	g.topic(c.Topics.Audit, Read) // status --verify
	g.topic(c.Source.Topic, Describe)
	for _, tier := range c.TierTopics() {
		g.topic(tier, Describe)
	}
	g.add(Group, Literal, c.Source.Group, Describe)
}

// governance needs nothing where no marks are governed: the commands refuse such a file.
func (g *grants) governance(c *config.Config) {
	if !c.Governance.On() {
		return
	}
	g.topic(c.Topics.Governance, Read)
	g.topic(c.Topics.Audit, Read, DescribeConfigs)
}

func (g *grants) replayerReads(c *config.Config) {
	g.topic(c.Source.Topic, Read) // the record behind a pointer, and how many came since
	g.topic(c.Topics.DLQ, Read, DescribeConfigs)
	g.topic(c.Topics.DLQStatus, Read)
	g.topic(c.Topics.Audit, Read)
	if c.Ordering.Mode != config.OrderingNone {
		g.topic(c.Topics.State, Read)
		if c.Source.Version != "" && c.Dedupe.Window > 0 {
			g.topic(c.Topics.Ledger, Read)
		}
	}
	g.references(c)
}

// replayerWrites edits and prunes the DLQ, too.
func (g *grants) replayerWrites(c *config.Config) {
	g.topic(c.Source.Topic, Write)
	g.topic(c.Topics.Control, Read, Write) // the key that signs replays; it is made where there is none
	g.topic(c.Topics.DLQ, Write, Delete)
	g.topic(c.Topics.DLQStatus, Write)
	g.topic(c.Topics.Audit, Write)
	g.add(TransactionalID, Literal, replay.TransactionalID(c.Source.Topic), Write)
}
