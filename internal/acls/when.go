package acls

import "slices"

// When is when an operation of a grant is needed. It is a closed list (see Whens). Nothing is lost under any of them.
type When string

// The times. All but Always are exceptions: a running process continues without the operation.
const (
	Always   When = "always"   // without it the command fails, or the pipeline is blocked until it is back
	Start    When = "start"    // a start fails; a running consumer has compared the topics already
	Assigned When = "assigned" // a new owner of a partition cannot start it; the current owner has read its memory already
	Ordered  When = "ordered"  // the first start fails, because it writes the replay key; later, a tolerance that pauses the pipeline writes its order
	Followed When = "followed" // a start fails; a running consumer keeps what it has read, and does not see changes
	Tidied   When = "tidied"   // finished records stay in the tiers and take space; the log says so
	Compact  When = "compact"  // a replay into a compacted topic fails, because it must look for newer values of its keys
	Seen     When = "seen"     // what may not be read or described is not shown
)

// Whens lists every time.
func Whens() []When { return []When{Always, Start, Assigned, Ordered, Followed, Tidied, Compact, Seen} }

// When returns when an operation of the grant is needed.
func (g Grant) When(o Operation) When {
	if when, excepted := g.Exceptions[o]; excepted {
		return when
	}
	return Always
}

// except sets when an added operation on a topic, or on topics with a prefix, is needed.
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
