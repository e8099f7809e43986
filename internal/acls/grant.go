package acls

import "slices"

// Resource is a type of resource, as in the flags of kafka-acls.sh. It is a closed list (see Resources).
type Resource string

// The types of resources.
const (
	Topic           Resource = "topic"
	Group           Resource = "group"
	TransactionalID Resource = "transactional-id"
)

// Resources lists every type of resource.
func Resources() []Resource { return []Resource{Topic, Group, TransactionalID} }

// Pattern is how a grant's name is matched, as in the values of kafka-acls.sh. It is a closed list (see Patterns).
type Pattern string

// The patterns.
const (
	Literal  Pattern = "literal"  // this name
	Prefixed Pattern = "prefixed" // every name that begins with it
)

// Patterns lists every pattern.
func Patterns() []Pattern { return []Pattern{Literal, Prefixed} }

// Operation is a Kafka operation, as kafka-acls.sh names it. It is a closed list (see Operations).
type Operation string

// The operations.
const (
	Read            Operation = "Read"
	Write           Operation = "Write"
	Create          Operation = "Create"
	Delete          Operation = "Delete"
	Describe        Operation = "Describe"
	DescribeConfigs Operation = "DescribeConfigs"
)

// Operations lists every operation.
func Operations() []Operation {
	return []Operation{Read, Write, Create, Delete, Describe, DescribeConfigs}
}

// Grant has the operations that are needed on one resource.
type Grant struct {
	Resource   Resource    `json:"resource_type"`
	Name       string      `json:"resource_name"`
	Pattern    Pattern     `json:"pattern_type"`
	Operations []Operation `json:"operations"` // in the order of Operations

	Exceptions map[Operation]When `json:"exceptions,omitempty"` // operations that are not always needed
}

// sameAs reports whether one kafka-acls.sh command can make both grants.
func (g Grant) sameAs(other Grant) bool {
	return g.Resource == other.Resource && g.Pattern == other.Pattern && slices.Equal(g.Operations, other.Operations)
}

// grants collects grants; a resource that is added twice gets both sets of operations.
type grants []Grant

func (g *grants) add(resource Resource, pattern Pattern, name string, operations ...Operation) {
	at := slices.IndexFunc(*g, func(have Grant) bool {
		return have.Resource == resource && have.Pattern == pattern && have.Name == name
	})
	if at < 0 {
		*g = append(*g, Grant{Resource: resource, Name: name, Pattern: pattern})
		at = len(*g) - 1
	}
	have := &(*g)[at]
	have.Operations = ordered(append(have.Operations, operations...))
}

// missing returns the grants of some that g does not have, and adds them to g.
func (g *grants) missing(of []Grant) (out []Grant) {
	for _, want := range of {
		for _, have := range *g {
			if have.Resource == want.Resource && have.Pattern == want.Pattern && have.Name == want.Name {
				want.Operations = slices.DeleteFunc(slices.Clone(want.Operations), func(o Operation) bool {
					return slices.Equal(ordered(append(slices.Clone(have.Operations), o)), have.Operations)
				})
			}
		}
		if len(want.Operations) > 0 {
			out = append(out, want)
			g.add(want.Resource, want.Pattern, want.Name, want.Operations...)
		}
	}
	return out
}

func (g *grants) topic(name string, operations ...Operation) {
	g.add(Topic, Literal, name, operations...)
}

// ordered sorts operations as Operations does, and removes duplicates and implied ones.
func ordered(operations []Operation) []Operation {
	implied := slices.ContainsFunc(operations, func(o Operation) bool { return o == Read || o == Write || o == Delete })
	var out []Operation
	for _, o := range Operations() {
		if slices.Contains(operations, o) && (o != Describe || !implied) {
			out = append(out, o)
		}
	}
	return out
}

// When is when an operation of a grant is needed. It is a closed list (see Whens). Nothing is lost under any of them.
type When string

// The times. All but Always are exceptions: a running process continues without the operation.
const (
	Always   When = "always"   // without it the command fails, or the pipeline is blocked until it is back
	Start    When = "start"    // a start fails; a running consumer has compared the topics already
	Assigned When = "assigned" // a new owner of a partition cannot start it; the current owner has read its memory already
	Ordered  When = "ordered"  // the first start fails, because it writes the replay key; later, a tolerance that pauses the pipeline writes its order
	Followed When = "followed" // a start fails; a running consumer keeps what it has read, and sees no changes
	Tidied   When = "tidied"   // finished records stay in the tiers and take space; this is logged
	Compact  When = "compact"  // a replay into a compacted topic fails, because it must look for newer values of its keys
	Seen     When = "seen"     // topics that may not be read or described are not shown
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
