package statetopic

import (
	"crypto/sha256"
	"encoding/hex"
)

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

// Differs reports whether numbers of two scales do not compare.
func (s Scale) Differs(other Scale) bool { return s != "" && other != "" && s != other }
