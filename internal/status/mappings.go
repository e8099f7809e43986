package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// MappingComparison compares one mapping with those of the running instances.
type MappingComparison struct {
	Own     string   // the fingerprint of the pipeline file, or of a plan
	Members []Member // sorted by name
}

// CompareMappings compares a fingerprint with those of the members of the consumer group.
func CompareMappings(own string, group kadm.DescribedGroup) MappingComparison {
	return MappingComparison{Own: own, Members: membersOf(group, "")}
}

// Differs reports whether an instance is known to run another mapping. The mapping of an instance that announces none is not known.
func (c MappingComparison) Differs() bool {
	return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Mapping != "" && m.Mapping != c.Own })
}

// Mixed reports whether the instances are known to run different mappings, as they do during a rolling deployment.
func (c MappingComparison) Mixed() bool {
	first := ""
	for _, m := range c.Members {
		if m.Mapping != "" && first != "" && m.Mapping != first {
			return true
		}
		if m.Mapping != "" {
			first = m.Mapping
		}
	}
	return false
}

// maxNamed bounds the instances that a line names.
const maxNamed = 5

// Lines tells which instances run which mapping, one line for each mapping. whose names the owner of c.Own: "this pipeline file".
// There are no lines if no instance is running.
func (c MappingComparison) Lines(whose string) []string {
	if len(c.Members) == 0 {
		return nil
	}
	names, order := map[string][]string{}, []string{}
	for _, m := range c.Members {
		if names[m.Mapping] == nil {
			order = append(order, m.Mapping)
		}
		names[m.Mapping] = append(names[m.Mapping], m.label())
	}
	out := []string{fmt.Sprintf("mapping %s: %s", ShortMapping(c.Own), whose)}
	for _, mapping := range order {
		says := "the same"
		switch mapping {
		case c.Own:
		case "":
			says = "not known: it announces none (the group is rebalancing, or it is another program)"
		default:
			says = "DIFFERENT"
		}
		out = append(out, fmt.Sprintf("mapping %s: %s, %s", ShortMapping(mapping), namedMembers(names[mapping]), says))
	}
	if c.Mixed() {
		out = append(out, "the running instances differ among themselves: a deployment is under way, or was left half done")
	}
	return out
}

func (m Member) label() string {
	text := m.Name
	if m.Host != "" {
		text += " at " + m.Host
	}
	if m.Software != "" {
		text += " (" + m.Software + ")"
	}
	return text
}

func namedMembers(names []string) string {
	noun := "instance "
	if len(names) > 1 {
		noun = fmt.Sprintf("%d instances: ", len(names))
	}
	if more := len(names) - maxNamed; more > 0 {
		return noun + strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return noun + strings.Join(names, ", ")
}
