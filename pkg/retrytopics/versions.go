package retrytopics

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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

// versions reports whether the newest version of every key is remembered.
func (c *Config) versions() bool {
	return c.Ordering.Versioned && c.Ordering.Mode != OrderNone && c.Ordering.Versions.Keep == KeepAlways
}

// scale returns the Scale of this configuration.
func (c *Config) scale() Scale {
	if !c.Ordering.Versioned {
		return ScaleOffset
	}
	return ScaleOf(c.Ordering.Versions.Of)
}

// Scale distinguishes version numbers that do not compare, because they come from different places. It is written beside
// each remembered version. The empty scale is unknown.
type Scale string

// maxScale bounds the length of a scale that is read.
const maxScale = 64

// ScaleOffset is the scale of source offsets.
const ScaleOffset Scale = "offset"

// ScaleOf returns the scale for a name in Versions.Of.
func ScaleOf(name string) Scale {
	sum := sha256.Sum256([]byte(name))
	return Scale(hex.EncodeToString(sum[:4]))
}

// differs reports whether numbers of two scales do not compare.
func (s Scale) differs(other Scale) bool { return s != "" && other != "" && s != other }
