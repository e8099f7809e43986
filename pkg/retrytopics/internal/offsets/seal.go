package offsets

import "strings"

// MaxGeneration is bounded by the room in a commit's metadata.
const MaxGeneration = 64

// sealMark ends the metadata of a commit if the state topic has the partition's checkpoint. It is written once, and once
// more for each generation. A base64 decoder ignores it.
const sealMark = "\n"

// sameMark precedes the seal, once for each of the latest generations that began without another source topic, because a
// lost state topic was adopted. A base64 decoder ignores it too.
const sameMark = "\r"

// Generations counts the generations of a source topic. Each adoption of a re-created source topic or a lost memory
// starts one.
type Generations struct {
	Now  int // number of adoptions
	Same int // number of latest ones that began without another source topic
}

// First returns the first generation with the current source topic.
func (g Generations) First() int { return g.Now - g.Same }

// Seal marks a commit's metadata.
func Seal(metadata string, g Generations) string {
	return metadata + strings.Repeat(sameMark, g.Same) + strings.Repeat(sealMark, g.Now+1)
}

// Unseal removes the mark of Seal. ok is false if the commit was made without a checkpoint.
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

// SealRoom is the largest size of a seal in a commit's metadata, in bytes.
const SealRoom = 2*MaxGeneration + 1
