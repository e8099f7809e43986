package retrytopics

import (
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A source topic that is deleted and re-created gives its offsets again. Where source offsets order events, those of a later
// topic must be the greater ones: a generation counts how often the topic was adopted (Engine.Adopt), and stands above the
// offset. Records of the first generation carry no header for it.

// maxGeneration is bounded by what a commit's metadata has room for.
const maxGeneration = 64

// versionPosition gives the offset by which the task's event is ordered: by its first appearance, in the topic of that time.
func (t *task) versionPosition() int64 {
	return header.VersionPosition(t.record.generation(), t.record.Source.Offset)
}

// generation gives that of the source topic in which the record first appeared. A header cannot make it a later one than
// today's.
func (r *Record) generation() int {
	if r.task == nil {
		return 0
	}
	today := r.task.from.state.generation
	if r.Control.HasSource {
		return min(r.Control.Generation, today)
	}
	return today
}

// sealMark is what the metadata of a commit ends with when the state topic has the partition's checkpoint, once for each
// generation and once more. A reader of base64 passes over it, and so do versions of this library without checkpoints.
const sealMark = "\n"

// sameMark stands before the seal once for each of the latest generations that began without another source topic: a lost state topic was
// adopted. A reader of base64 passes over it, too.
const sameMark = "\r"

// generations are those of a source topic. Each adoption of a re-created source topic, or of a lost memory, begins one.
type generations struct {
	now  int
	same int // so many of the latest ones began without another source topic
}

// first returns the first generation in which the source topic was the one that it is now.
func (g generations) first() int { return g.now - g.same }

// seal marks a commit's metadata.
func seal(metadata string, g generations) string {
	return metadata + strings.Repeat(sameMark, g.same) + strings.Repeat(sealMark, g.now+1)
}

// unseal reads the mark of seal. ok is false when the commit was made without a checkpoint.
func unseal(metadata string) (text string, g generations, ok bool) {
	text = strings.TrimRight(metadata, sealMark)
	n := len(metadata) - len(text)
	if n == 0 {
		return text, g, false
	}
	g.now = min(n-1, maxGeneration)
	before := len(text)
	text = strings.TrimRight(text, sameMark)
	g.same = min(before-len(text), g.now)
	return text, g, true
}

// sealRoom is what a seal takes of a commit's metadata at most, in bytes.
const sealRoom = 2*maxGeneration + 1
