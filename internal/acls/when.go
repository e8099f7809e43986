package acls

import "slices"

// When says when an operation of a grant is needed, and so what shows where it is missing. It is a closed list (see Whens). Nothing is
// lost under any of them.
type When string

// The times. All but Always are exceptions: a process that runs goes on without the operation.
const (
	Always   When = "always"   // the command fails, or the pipeline is blocked until it is back
	Start    When = "start"    // a start fails; a consumer that runs has compared the topics already
	Assigned When = "assigned" // who takes over a partition cannot begin with it; who has it has read its memory already
	Ordered  When = "ordered"  // the first start fails, which writes the key of replays; later a tolerance that holds the pipeline writes its order
	Followed When = "followed" // a start fails; a consumer that runs keeps what it has read, and does not hear of changes
	Tidied   When = "tidied"   // what is finished stays in the tiers and takes space; the log says so
	Compact  When = "compact"  // a replay into a compacted topic fails, since newer values of its keys have to be looked at
	Seen     When = "seen"     // what may not be read or described is not shown
)

// Whens lists every time.
func Whens() []When { return []When{Always, Start, Assigned, Ordered, Followed, Tidied, Compact, Seen} }

// When says when an operation of the grant is needed.
func (g Grant) When(o Operation) When {
	if when, excepted := g.Exceptions[o]; excepted {
		return when
	}
	return Always
}

// except says that an operation on a topic, or on those with a prefix, that was added is needed at some times only.
func (g *grants) except(name string, o Operation, when When) {
	g.exceptOf(Topic, name, o, when)
}

// exceptOf is except for any resource.
func (g *grants) exceptOf(resource Resource, name string, o Operation, when When) {
	at := slices.IndexFunc(*g, func(have Grant) bool { return have.Resource == resource && have.Name == name })
	have := &(*g)[at]
	if have.Exceptions == nil {
		have.Exceptions = map[Operation]When{}
	}
	have.Exceptions[o] = when
}
