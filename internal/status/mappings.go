package status

import (
	"encoding/json"
	"fmt"
	"regexp"
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

// Differs reports whether an instance is known to run another mapping. The mapping of an instance that announces none
// is unknown.
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

// Lines returns which instances run which mapping, one line for each mapping. whose names the owner of c.Own: "this
// pipeline file". There are no lines if no instance is running.
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

// Announcement is what an instance publishes in the user data of its group membership. The broker keeps it exactly as
// long as the instance is a member, so a killed instance leaves nothing behind (docs/decisions/0079).
type Announcement struct {
	Mapping  string // the fingerprint of pipeline.Mapping; "" is unknown
	Software string // the version of the software; "" is unknown
}

// announcementVersion is the version of the JSON below.
const announcementVersion = 1

type announcementJSON struct {
	Version  int    `json:"version"`
	Mapping  string `json:"mapping"`
	Software string `json:"software,omitempty"`
}

const (
	maxAnnouncement = 4 << 10
	maxSoftware     = 64
)

var (
	mappingFingerprint = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	printable          = regexp.MustCompile(`^[\x21-\x7e]*$`)
)

// Encode returns the announcement as user data. A software version that is too long or not printable is left out.
func (a Announcement) Encode() ([]byte, error) {
	if !mappingFingerprint.MatchString(a.Mapping) {
		return nil, fmt.Errorf("announce the mapping %q: it is not a fingerprint", a.Mapping)
	}
	software := a.Software
	if len(software) > maxSoftware || !printable.MatchString(software) {
		software = ""
	}
	return json.Marshal(announcementJSON{announcementVersion, a.Mapping, software})
}

// ReadAnnouncement decodes user data. Any client can join a group with any user data, so anything else than an
// announcement is unknown.
func ReadAnnouncement(data []byte) Announcement {
	var w announcementJSON
	if len(data) == 0 || len(data) > maxAnnouncement || json.Unmarshal(data, &w) != nil || w.Version < 1 || !mappingFingerprint.MatchString(w.Mapping) {
		return Announcement{}
	}
	if len(w.Software) > maxSoftware || !printable.MatchString(w.Software) {
		w.Software = ""
	}
	return Announcement{w.Mapping, w.Software}
}

// ShortMapping shortens a fingerprint to enough digits to distinguish two.
func ShortMapping(mapping string) string {
	const digits = len("sha256:") + 12
	switch {
	case mapping == "":
		return "unknown"
	case len(mapping) <= digits:
		return mapping
	}
	return mapping[:digits]
}
