package acls

import (
	"slices"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/topics"
)

// duty is a role with its commands and the grants that they need.
type duty struct {
	role     Role
	commands string
	grant    func(*grants, *config.Config)
}

func duties() []duty {
	return []duty{
		{RoleRun, "consumer run", (*grants).run},
		{RoleTopics, "consumer topics ensure and check", (*grants).topics},
		{RoleAdopt, "consumer topics adopt", (*grants).adopt},
		{RoleControl, "consumer pause and resume", (*grants).control},
		{RoleStatus, "consumer status", (*grants).status},
		{RoleVerify, "consumer verify", (*grants).verify},
		{RoleGovernance, "consumer governance export", (*grants).governance},
		{RoleReplayerRead, "replayer commands that change nothing, and dry runs", (*grants).replayerLooks},
		{RoleReplayerWrite, "replayer commands with --execute", (*grants).replayerWrites},
	}
}

// duty returns the duty of a role; without a grant for a role that does not exist.
func (r Role) duty() duty {
	for _, d := range duties() {
		if d.role == r {
			return d
		}
	}
	return duty{r, string(r), func(*grants, *config.Config) {}}
}

// Commands names the commands that a role is for.
func (r Role) Commands() string { return r.duty().commands }

// Of returns the least privileges of a role, from the pipeline file. It is pure.
func Of(c *config.Config, role Role) []Grant {
	var g grants
	role.duty().grant(&g, c)
	return g
}

// topics compares the settings of all topics, including former tiers with waiting records.
func (g *grants) topics(c *config.Config) {
	for _, t := range topics.Plan(c) {
		if t.Role == topics.RoleTier {
			g.topic(t.Name, Create) // the prefix grants the rest
			continue
		}
		g.topic(t.Name, Create, Describe, DescribeConfigs)
	}
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Describe, DescribeConfigs)
	g.add(Group, Literal, c.Source.Group, Describe)
}

// run compares the settings of all topics at its start.
func (g *grants) run(c *config.Config) {
	for _, t := range topics.Plan(c) {
		if t.Role == topics.RoleTier {
			g.topic(t.Name, Write) // the prefix grants the rest
			continue
		}
		g.topic(t.Name, append(runs(c, t.Role), DescribeConfigs)...)
		g.except(t.Name, DescribeConfigs, Start)
	}
	// Former tiers are drained too. Finished records are deleted from each tier.
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Read, Delete, DescribeConfigs)
	g.except(c.Topics.TierPrefix, Delete, Tidied)
	g.except(c.Topics.TierPrefix, DescribeConfigs, Start)
	g.memories(c)
	g.except(c.Topics.Control, Write, Ordered)
	g.except(c.Topics.DLQ, Read, Seen)
	g.except(c.Topics.DLQStatus, Read, Seen)
	g.references(c)
	for _, set := range c.Transform.References {
		if set.Topic != "" {
			g.except(set.Topic, Read, Followed)
		}
	}
	g.add(Group, Literal, c.Source.Group, Read)
	if c.Delivery == config.DeliveryExactlyOnce {
		// <group>-<instance> of each instance, and <group>-control.
		g.add(TransactionalID, Prefixed, c.Source.Group+"-", Write)
	}
}

// memories grants reading a partition's memory, which its new owner does.
func (g *grants) memories(c *config.Config) {
	g.except(c.Topics.State, Read, Assigned)
	if c.Dedupe.Window > 0 {
		g.except(c.Topics.Ledger, Read, Assigned)
	}
	if c.Governance.On() {
		g.except(c.Topics.Governance, Read, Assigned)
	}
}

// runs returns what consumer run does with a topic besides describing it.
func runs(c *config.Config, role topics.Role) []Operation {
	switch role {
	case topics.RoleSource:
		return []Operation{Read}
	case topics.RoleState: // also without an order: records that waited under an earlier order are closed there
		return []Operation{Read, Write}
	case topics.RoleLedger:
		if c.Dedupe.Window == 0 {
			return []Operation{Describe}
		}
		return []Operation{Read, Write}
	case topics.RoleControl, topics.RoleGovernance:
		return []Operation{Read, Write}
	case topics.RoleDLQ, topics.RoleDLQStatus: // read for the metrics of pending dead letters
		return []Operation{Read, Write}
	case topics.RoleOutput, topics.RoleAudit, topics.RoleTier:
		return []Operation{Write}
	}
	return nil
}

// references reads the reference sets in topics.
func (g *grants) references(c *config.Config) {
	for _, set := range c.Transform.References {
		if set.Topic != "" {
			g.topic(set.Topic, Read)
		}
	}
}

// adopt describes the topics of the memory, and writes the memory.
func (g *grants) adopt(c *config.Config) {
	g.topic(c.Source.Topic, Read)
	g.topic(c.Topics.DLQ, Describe)
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Read)
	g.topic(c.Topics.State, Read, Write)
	if c.Dedupe.Window > 0 {
		g.topic(c.Topics.Ledger, Read)
	}
	g.add(Group, Literal, c.Source.Group, Delete) // its commits of re-created topics
	if c.Delivery == config.DeliveryExactlyOnce {
		g.add(TransactionalID, Prefixed, c.Source.Group+"-", Write) // ends the transactions of killed instances
	}
}

func (g *grants) control(c *config.Config) {
	g.topic(c.Topics.Control, Read, Write)
	g.topic(c.Topics.Audit, Write)
	if c.Delivery == config.DeliveryExactlyOnce {
		g.add(TransactionalID, Literal, control.TransactionalID(c), Write)
	}
}

func (g *grants) status(c *config.Config) {
	g.topic(c.Topics.Control, Read)
	for _, topic := range []string{c.Topics.DLQ, c.Topics.DLQStatus} {
		g.topic(topic, Read)
		g.except(topic, Read, Seen)
	}
	g.topic(c.Source.Topic, Describe)
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Describe) // including former tiers
	g.add(Group, Literal, c.Source.Group, Describe)
}

// verify reads every topic that can have a record. A topic whose settings are unknown counts as compacted.
func (g *grants) verify(c *config.Config) {
	for _, topic := range []string{c.Source.Topic, c.Output.Topic, c.Topics.DLQ, c.Topics.Audit} {
		g.topic(topic, Read, DescribeConfigs)
		g.except(topic, DescribeConfigs, Seen)
	}
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Read) // including former tiers
	g.topic(c.Topics.State, Read)
	g.topic(c.Topics.Control, Read) // the key that proves replays, and the head of a chain
	g.topic(c.Topics.DLQStatus, Read)
	if c.Governance.On() {
		g.topic(c.Topics.Governance, Read)
	}
	g.add(Group, Literal, c.Source.Group, Describe)
}

// governance needs nothing without governed marks, because the commands refuse such a file.
func (g *grants) governance(c *config.Config) {
	if !c.Governance.On() {
		return
	}
	g.topic(c.Topics.Governance, Read)
	g.topic(c.Topics.Audit, Read, DescribeConfigs)
}

func (g *grants) replayerReads(c *config.Config) {
	g.topic(c.Source.Topic, Read) // the record of a pointer, and how many followed it
	g.except(c.Source.Topic, Read, Seen)
	g.add(Group, Literal, c.Source.Group, Describe) // the share of the consumed records
	g.exceptOf(Group, c.Source.Group, Describe, Seen)
	g.topic(c.Topics.DLQ, Read, DescribeConfigs)
	g.except(c.Topics.DLQ, DescribeConfigs, Seen) // its retention
	g.topic(c.Output.Topic, DescribeConfigs)
	g.except(c.Output.Topic, DescribeConfigs, Seen) // whether a replayed record fits
	g.topic(c.Topics.DLQStatus, Read)
	g.topic(c.Topics.Control, Read) // the jobs of all replayers
	if c.Ordering.Mode != config.OrderingNone {
		g.topic(c.Topics.State, Read)
		if c.Source.Version != "" && c.Dedupe.Window > 0 {
			g.topic(c.Topics.Ledger, Read)
		}
	}
	g.references(c)
}

// replayerLooks also reads the audit trail.
func (g *grants) replayerLooks(c *config.Config) {
	g.replayerReads(c)
	g.topic(c.Topics.Audit, Read)
}

// replayerWrites also edits and prunes the DLQ.
func (g *grants) replayerWrites(c *config.Config) {
	g.replayerReads(c)
	g.topic(c.Source.Topic, Write)
	g.topic(c.Topics.Control, Write) // the lease, jobs, and the key that signs replays, which is created if there is none
	g.topic(c.Topics.DLQ, Write, Delete)
	g.topic(c.Topics.DLQStatus, Write)
	g.topic(c.Topics.Audit, Write)
	g.add(TransactionalID, Literal, deadletters.TransactionalID(c.Source.Topic), Write)
	g.add(Group, Literal, c.Source.Group, Describe) // whether a running instance can finish a replay
	g.exceptOf(Group, c.Source.Group, Describe, Seen)
	g.add(Topic, Prefixed, c.Topics.TierPrefix, Describe) // reopen --lost: whether a replay still waits
}

// Role is a set of commands that need the same privileges. It is a closed list (see Roles).
type Role string

// The roles.
const (
	RoleRun           Role = "run"            // consumer run
	RoleTopics        Role = "topics"         // consumer topics ensure and check
	RoleAdopt         Role = "adopt"          // consumer topics adopt
	RoleControl       Role = "control"        // consumer pause and resume
	RoleStatus        Role = "status"         // consumer status
	RoleVerify        Role = "verify"         // consumer verify
	RoleGovernance    Role = "governance"     // consumer governance export
	RoleReplayerRead  Role = "replayer-read"  // replayer commands that change nothing, and dry runs
	RoleReplayerWrite Role = "replayer-write" // replayer commands with --execute
)

// Roles lists every role.
func Roles() []Role { return append(ConsumerRoles(), ReplayerRoles()...) }

// ConsumerRoles lists the roles of the consumer's commands.
func ConsumerRoles() []Role {
	return []Role{RoleRun, RoleTopics, RoleAdopt, RoleControl, RoleStatus, RoleVerify, RoleGovernance}
}

// ReplayerRoles lists the roles of the replayer's commands.
func ReplayerRoles() []Role { return []Role{RoleReplayerRead, RoleReplayerWrite} }

// Targets are the topics to which dead letters of a DLQ without a pipeline are replayed.
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
		if len(to.Groups) == 0 && !to.Local { // reading a group's position needs Read too, and so does recovery from a crash
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
