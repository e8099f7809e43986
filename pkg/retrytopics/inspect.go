package retrytopics

import (
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// ErrNewerMetadata is wrapped when a newer version of this library wrote the metadata of a commit. The partition is
// refused: reading on would process finished records again.
var ErrNewerMetadata = offsets.ErrNewerMetadata

// The following functions parse what the engine writes, for programs that inspect a pipeline from outside. They are
// pure.

// Run is a run of offsets, both ends included.
type Run struct{ First, Last int64 }

// Commit is a group's parsed commit of one partition.
type Commit struct {
	Offset     int64 // everything before it is finished
	Ahead      []Run // what is finished beyond it, ascending
	Generation int   // of the source topic; 0 in the first one
	First      int   // the first generation with the current source topic
}

// ParseCommit parses a commit and its metadata. Metadata of other software counts as empty. The error wraps
// ErrNewerMetadata if a newer version wrote it.
func ParseCommit(offset int64, metadata string) (Commit, error) {
	text, g, _ := offsets.Unseal(metadata)
	spans, err := offsets.DecodeFinished(offset, text)
	if err != nil {
		return Commit{}, err
	}
	c := Commit{Offset: offset, Generation: g.Now, First: g.First()}
	for _, s := range spans {
		c.Ahead = append(c.Ahead, Run{s.First, s.Last})
	}
	return c, nil
}

// Finished reports whether the group has finished the record at an offset.
func (c Commit) Finished(offset int64) bool {
	if offset < c.Offset {
		return true
	}
	_, found := slices.BinarySearchFunc(c.Ahead, offset, func(r Run, at int64) int {
		switch {
		case r.Last < at:
			return -1
		case r.First > at:
			return 1
		}
		return 0
	})
	return found
}
