package deadletters

import (
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Dialect says whose conventions the headers of a letter follow (see [dialects.Dialects]).
type Dialect = dialects.Dialect

// The dialects that the replayer itself tells apart.
const (
	Native  = dialects.Native  // written by this software
	Unknown = dialects.Unknown // by nobody whose headers are known
)

// Letter is one dead letter with its state.
type Letter struct {
	ID      string          // dead letter id; made from the position ("dlq-<partition>-<offset>") when no header has one
	Dialect Dialect         // whose headers they are
	DLQ     header.Position // where its record lies
	At      time.Time       // timestamp of that record: when it died last
	Key     []byte          // original key; nil when there was none
	Size    int             // bytes of the original value, also when it lies elsewhere
	Control header.Control  // what the control headers say; fields that could not be read are zero

	// ContentHash is the header's hash. Without that header it is a hash over key and value, so
	// that a foreign letter is deduplicated too.
	ContentHash string
	CauseClass  string   // of other software: the class of the exception behind the error; else empty
	CausedBy    string   // of other software: class and message of the innermost exception; else empty
	Group       string   // fingerprint of code, stage and [Letter.Pattern]
	Problems    []string // what could not be read, in words; nil when all could
	Deaths      int      // records of the DLQ with this id; above 1 it was replayed and died again
	State       State    // the last state; zero when there is no state record
	Status      Status   // pending without a state record; empty when the state record cannot be read

	// Gone is when the SQL index saw that the topic no longer has the letter's record; zero while
	// it is there, and in letters that were read from the topic itself.
	Gone time.Time

	// FirstAt is when the letter first died, of all its records that the SQL index has seen: a replay that failed does not make it
	// younger. Zero in letters that were read from the topic itself.
	FirstAt time.Time

	EditOf header.Position // the record that this one is an edit of; zero for an original

	// Pointer says where the original lies, when the record in the DLQ is only a pointer to it; else nil.
	Pointer *header.Pointer
	// TooLarge says why the record's value is not held in memory; empty when it is. Content has no value then, although the
	// record is no tombstone.
	TooLarge string
	Last     int64 // offset of the last record that a letter stands for; that of its own, unless what lies there cannot be read

	// Content is the letter's record as it lies in the DLQ, only when it was asked for.
	Content *Content
}

// Content is what a letter carries: bytes and headers exactly as they lie in the DLQ.
type Content struct {
	Value   []byte // original bytes; nil is a tombstone, unless the letter is TooLarge
	Head    []byte // the first KiB of them when the letter is TooLarge
	Headers []kgo.RecordHeader
}

// Held returns how many bytes the letter's value and headers take in memory.
func (l *Letter) Held() int {
	if l.Content == nil {
		return 0
	}
	n := len(l.Content.Value)
	for _, h := range l.Content.Headers {
		n += int(unsafe.Sizeof(h)) + len(h.Key) + len(h.Value)
	}
	return n
}

// Source returns the first position of the feature, and whether it is known.
func (l *Letter) Source() (header.Position, bool) {
	return l.Control.Source, l.Control.HasSource
}

// Replays returns how often the letter has been put back so far: the larger of what its header
// and its state say, since either can be the one that is known.
func (l *Letter) Replays() int { return max(l.Control.ReplayCount, l.State.ReprocessCount) }
