package retrytopics

import (
	"cmp"
	"fmt"
)

// KeepVersions is how long the newest version of a key is remembered if events have versions (Ordering.Versioned).
type KeepVersions string

const (
	// KeepAlways remembers it as long as the key: an older event never takes effect after a newer one, however late it
	// comes.
	KeepAlways KeepVersions = "always"
	// KeepWindow remembers it while a record of the key waits or is a dead letter, and otherwise for Dedupe.Window.
	KeepWindow KeepVersions = "window"
)

// KeepsVersions lists every choice.
func KeepsVersions() []KeepVersions { return []KeepVersions{KeepAlways, KeepWindow} }

// Versions sets how the newest effective version of each key is remembered. Without Ordering.Versioned nothing is
// remembered: by source offset, nothing older can follow something newer.
type Versions struct {
	Keep KeepVersions // Defaults to KeepAlways.
	// MaxKeys is the number of keys per partition. Beyond it, keys whose last event is the oldest are forgotten, counted
	// (Stats.Versions) and logged. A key costs at most 64 bytes of memory. Defaults to 10 million.
	MaxKeys int
	// Of names the origin of Result.Version, such as the property it is read from. Numbers of different names do not
	// compare: what took effect under another name counts as older than everything after it in the source.
	Of string
}

func (v Versions) withDefaults() Versions {
	v.Keep = cmp.Or(v.Keep, KeepAlways)
	v.MaxKeys = cmp.Or(v.MaxKeys, 10_000_000)
	return v
}

func (v Versions) faults() []error {
	var faults []error
	if v.Keep != KeepAlways && v.Keep != KeepWindow {
		faults = append(faults, fmt.Errorf("Ordering.Versions.Keep %q is none of %v", v.Keep, KeepsVersions()))
	}
	if v.MaxKeys < 1 {
		faults = append(faults, fmt.Errorf("Ordering.Versions.MaxKeys is %d, want at least 1", v.MaxKeys))
	}
	return faults
}
