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

// grants collects grants; a resource that is added twice needs both.
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

// missing returns what of some grants g does not have, and adds it to g.
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
