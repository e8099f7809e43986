package retrytopics

import (
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrNewerMetadata is wrapped when the metadata of a commit was written by a newer version of this library. Reading on
// would do finished records again, so the partition is refused.
var ErrNewerMetadata = offsets.ErrNewerMetadata

// What follows reads what the engine writes, for programs that look at a pipeline from outside. It is pure.

// Run is a run of offsets, both ends included.
type Run struct{ First, Last int64 }

// Commit is what a group's commit of one partition says.
type Commit struct {
	Offset     int64 // everything before it is finished
	Ahead      []Run // what is finished beyond it, ascending
	Generation int   // of the source topic; 0 in the first one
	First      int   // the first generation in which the source topic was the one that it is now
}

// ParseCommit reads a commit and its metadata. Metadata of other software counts as empty. The error wraps ErrNewerMetadata when a
// newer version has written it.
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

// Finished says whether the group has finished the record at an offset.
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

// Checkpoint is what a partition's memory says of where it stands: see the state topic in docs/changes.md.
type Checkpoint struct {
	Group, Source string
	Generation    int                    // how often a re-created source topic, or a lost memory, was adopted
	First         int                    // the first generation in which the source topic was the one that it is now
	Positions     map[string]TopicCommit // by topic
}

// TopicCommit is where the group stands in one topic.
type TopicCommit struct {
	ID     [16]byte // Kafka's id of the topic; zero when it was not known
	Commit Commit   // Offset -1: nothing is finished
}

// ParseCheckpoint reads a record of the state topic. ok is false for a record that is no checkpoint.
func ParseCheckpoint(r *kgo.Record) (cp Checkpoint, ok bool, err error) {
	if string(r.Key) != checkpointKey || r.Value == nil {
		return Checkpoint{}, false, nil
	}
	read, err := decodeCheckpoint(r.Value)
	if err != nil {
		return Checkpoint{}, true, err
	}
	cp = Checkpoint{Group: read.group, Source: read.source, Generation: read.generation, First: read.generation - read.same, Positions: make(map[string]TopicCommit, len(read.positions))}
	for topic, p := range read.positions {
		c, err := ParseCommit(p.at.Offset, p.at.Metadata)
		if err != nil {
			return Checkpoint{}, true, err
		}
		cp.Positions[topic] = TopicCommit{ID: p.id, Commit: c}
	}
	return cp, true, nil
}

// Believed gives what an engine believes of the control headers of a record of the source topic: those of a replay that is proven, and
// of any other record nothing. generation is that of the source topic now. doubt is nil where nothing was claimed in vain; headers that
// cannot be read are an error.
func Believed(raw *kgo.Record, generation int, proven func(*kgo.Record) error) (kept header.Control, doubt *DoubtError, err error) {
	said, err := header.ParseControl(raw.Headers)
	if err != nil {
		return header.Control{}, nil, err
	}
	kept, doubt = fromReplay(said, raw, generation, proven)
	return kept, doubt, nil
}
