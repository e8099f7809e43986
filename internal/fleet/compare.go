package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Instance is one member of the consumer group, and what it announces.
type Instance struct {
	Name string // of a static member its instance, else the client id
	Host string // as the broker sees it
	Announcement
}

// Of gives what a member of a group announces. While the group rebalances brokers do not say it: it is unknown then.
func Of(m kadm.DescribedGroupMember) Instance {
	i := Instance{Name: m.ClientID, Host: strings.TrimPrefix(m.ClientHost, "/")}
	if m.InstanceID != nil {
		i.Name = *m.InstanceID
	}
	if joined, ok := m.Join.AsConsumer(); ok {
		i.Announcement = Read(joined.UserData)
	}
	return i
}

// Comparison holds the mapping of one side against those of the running instances.
type Comparison struct {
	Own       string     // the fingerprint of the pipeline file, or of a plan
	Instances []Instance // by name
}

// Compare holds own against the members of the pipeline's group.
func Compare(own string, group kadm.DescribedGroup) Comparison {
	c := Comparison{Own: own}
	for _, m := range group.Members {
		c.Instances = append(c.Instances, Of(m))
	}
	slices.SortFunc(c.Instances, func(a, b Instance) int { return strings.Compare(a.Name+"\x00"+a.Host, b.Name+"\x00"+b.Host) })
	return c
}

// Differs says whether an instance is known to run another mapping. One that announces none is not known to.
func (c Comparison) Differs() bool {
	return slices.ContainsFunc(c.Instances, func(i Instance) bool { return i.Mapping != "" && i.Mapping != c.Own })
}

// Mixed says whether the instances are known to differ among themselves, as they do during a rolling deployment.
func (c Comparison) Mixed() bool {
	first := ""
	for _, i := range c.Instances {
		if i.Mapping != "" && first != "" && i.Mapping != first {
			return true
		}
		if i.Mapping != "" {
			first = i.Mapping
		}
	}
	return false
}

// maxNamed is how many instances with one mapping are named.
const maxNamed = 5

// Lines says which instances run which mapping, one line for each mapping; whose is what c.Own is of: "this pipeline file". There
// is no line where no instance is running.
func (c Comparison) Lines(whose string) []string {
	if len(c.Instances) == 0 {
		return nil
	}
	names, order := map[string][]string{}, []string{}
	for _, i := range c.Instances {
		if names[i.Mapping] == nil {
			order = append(order, i.Mapping)
		}
		names[i.Mapping] = append(names[i.Mapping], i.label())
	}
	out := []string{fmt.Sprintf("mapping %s: %s", Short(c.Own), whose)}
	for _, mapping := range order {
		says := "the same"
		switch mapping {
		case c.Own:
		case "":
			says = "not known: it announces none (an earlier version, or the group is rebalancing)"
		default:
			says = "DIFFERENT"
		}
		out = append(out, fmt.Sprintf("mapping %s: %s, %s", Short(mapping), named(names[mapping]), says))
	}
	if c.Mixed() {
		out = append(out, "the running instances differ among themselves: a deployment is under way, or was left half done")
	}
	return out
}

func (i Instance) label() string {
	text := i.Name
	if i.Host != "" {
		text += " at " + i.Host
	}
	if i.Software != "" {
		text += " (" + i.Software + ")"
	}
	return text
}

func named(names []string) string {
	noun := "instance "
	if len(names) > 1 {
		noun = fmt.Sprintf("%d instances: ", len(names))
	}
	if more := len(names) - maxNamed; more > 0 {
		return noun + strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return noun + strings.Join(names, ", ")
}
