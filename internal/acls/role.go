package acls

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

// Commands names the commands that a role is for.
func (r Role) Commands() string {
	switch r {
	case RoleRun:
		return "consumer run"
	case RoleTopics:
		return "consumer topics ensure and check"
	case RoleAdopt:
		return "consumer topics adopt"
	case RoleControl:
		return "consumer pause and resume"
	case RoleStatus:
		return "consumer status"
	case RoleVerify:
		return "consumer verify"
	case RoleGovernance:
		return "consumer governance export"
	case RoleReplayerRead:
		return "replayer commands that change nothing, and dry runs"
	case RoleReplayerWrite:
		return "replayer commands with --execute"
	}
	return string(r)
}
