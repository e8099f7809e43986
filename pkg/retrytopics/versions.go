package retrytopics

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// KeepVersions says how long the newest version of a key is remembered where events have versions (Ordering.Versioned).
type KeepVersions string

const (
	// KeepAlways remembers it as long as the key: an older event never takes effect after a newer one, however late it comes.
	KeepAlways KeepVersions = "always"
	// KeepWindow remembers it while a record of the key waits or is a dead letter, and else for Dedupe.Window.
	KeepWindow KeepVersions = "window"
)

// KeepsVersions lists every choice.
func KeepsVersions() []KeepVersions { return []KeepVersions{KeepAlways, KeepWindow} }

// Versions says how the newest version that took effect is remembered, for each key. Without Ordering.Versioned nothing is: by the
// source offset nothing older can come after something newer.
type Versions struct {
	Keep KeepVersions // Defaults to KeepAlways.
	// MaxKeys is for how many keys of a partition; beyond it those whose last event lies furthest back are forgotten, counted
	// (Stats.Versions) and logged. A key costs at most 64 bytes of memory. Defaults to 10 million.
	MaxKeys int
	// Of names what Result.Version is, such as the property that it is read from. Numbers of another name say nothing about
	// those of this one: what took effect under it counts as older than all that lies behind it in the source.
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

// versions says whether the newest version of every key is remembered.
func (c *Config) versions() bool {
	return c.Ordering.Versioned && c.Ordering.Mode != OrderNone && c.Ordering.Versions.Keep == KeepAlways
}

// scale gives the Scale of this configuration.
func (c *Config) scale() Scale {
	if !c.Ordering.Versioned {
		return ScaleOffset
	}
	return ScaleOf(c.Ordering.Versions.Of)
}

// Scale tells numbers of versions apart that do not compare, since they are read from different places. It is written beside
// each version that is remembered. The empty one is unknown: an earlier release of this library wrote none.
type Scale string

// maxScale bounds the length of one that is read.
const maxScale = 64

// ScaleOffset is the scale of source offsets.
const ScaleOffset Scale = "offset"

// ScaleOf gives the scale of what Versions.Of names.
func ScaleOf(name string) Scale {
	sum := sha256.Sum256([]byte(name))
	return Scale(hex.EncodeToString(sum[:4]))
}

// differs says whether numbers of two scales do not compare.
func (s Scale) differs(other Scale) bool { return s != "" && other != "" && s != other }
