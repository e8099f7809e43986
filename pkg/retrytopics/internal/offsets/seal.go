package offsets

import "strings"

// MaxGeneration is bounded by what a commit's metadata has room for.
const MaxGeneration = 64

// sealMark is what the metadata of a commit ends with when the state topic has the partition's checkpoint, once for each
// generation and once more. A reader of base64 passes over it, and so do versions of this library without checkpoints.
const sealMark = "\n"

// sameMark stands before the seal once for each of the latest Generations that began without another source topic: a lost state topic was
// adopted. A reader of base64 passes over it, too.
const sameMark = "\r"

// Generations counts those of a source topic. Each adoption of a re-created source topic, or of a lost memory, begins one.
type Generations struct {
	Now  int // how often one began
	Same int // so many of the latest ones began without another source topic
}

// First returns the first generation in which the source topic was the one that it is now.
func (g Generations) First() int { return g.Now - g.Same }

// Seal marks a commit's metadata.
func Seal(metadata string, g Generations) string {
	return metadata + strings.Repeat(sameMark, g.Same) + strings.Repeat(sealMark, g.Now+1)
}

// Unseal reads the mark of Seal. ok is false when the commit was made without a checkpoint.
func Unseal(metadata string) (text string, g Generations, ok bool) {
	text = strings.TrimRight(metadata, sealMark)
	n := len(metadata) - len(text)
	if n == 0 {
		return text, g, false
	}
	g.Now = min(n-1, MaxGeneration)
	before := len(text)
	text = strings.TrimRight(text, sameMark)
	g.Same = min(before-len(text), g.Now)
	return text, g, true
}

// SealRoom is what a seal takes of a commit's metadata at most, in bytes.
const SealRoom = 2*MaxGeneration + 1
