package status

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Announcement is what an instance tells its consumer group: the user data of its membership. The broker has it exactly as long as the
// instance is a member, so a killed instance leaves nothing behind (docs/decisions/0079).
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

// ReadAnnouncement decodes user data. Any client can join a group with any user data, so whatever is not an announcement is unknown.
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

// ShortMapping shortens a fingerprint for people to enough digits to tell two apart.
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
