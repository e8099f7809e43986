package fleet

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Announcement is what an instance says of itself.
type Announcement struct {
	Mapping  string // the fingerprint, see [pipeline.Mapping.Fingerprint]; "" is unknown
	Software string // the version of the software; "" is unknown
}

// version is the form of the JSON below.
const version = 1

type wire struct {
	Version  int    `json:"version"`
	Mapping  string `json:"mapping"`
	Software string `json:"software,omitempty"`
}

const (
	maxAnnouncement = 4 << 10
	maxSoftware     = 64
)

var (
	fingerprint = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	printable   = regexp.MustCompile(`^[\x21-\x7e]*$`)
)

// Encode writes an announcement.
func (a Announcement) Encode() ([]byte, error) {
	if !fingerprint.MatchString(a.Mapping) {
		return nil, fmt.Errorf("announce the mapping %q: it is no fingerprint", a.Mapping)
	}
	software := a.Software
	if len(software) > maxSoftware || !printable.MatchString(software) {
		software = ""
	}
	return json.Marshal(wire{version, a.Mapping, software})
}

// Read reads an announcement. Anybody can join a group and say anything: what is not an announcement, as the nothing that earlier
// versions say, is unknown.
func Read(data []byte) Announcement {
	var w wire
	if len(data) == 0 || len(data) > maxAnnouncement || json.Unmarshal(data, &w) != nil || w.Version < 1 || !fingerprint.MatchString(w.Mapping) {
		return Announcement{}
	}
	if len(w.Software) > maxSoftware || !printable.MatchString(w.Software) {
		w.Software = ""
	}
	return Announcement{w.Mapping, w.Software}
}

// Short is a fingerprint for people: enough digits to tell two apart.
func Short(mapping string) string {
	const digits = len("sha256:") + 12
	switch {
	case mapping == "":
		return "unknown"
	case len(mapping) <= digits:
		return mapping
	}
	return mapping[:digits]
}
