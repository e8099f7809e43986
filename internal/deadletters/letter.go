package deadletters

import (
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Dialect is whose conventions the headers of a dead letter follow (see [dialects.Dialects]).
type Dialect = dialects.Dialect

// The dialects that the replayer itself distinguishes.
const (
	Native  = dialects.Native  // written by this software
	Unknown = dialects.Unknown // its headers follow no known convention
)

// Letter is one dead letter with its state.
type Letter struct {
	ID      string          // made from the position ("dlq-<partition>-<offset>") if no header has one
	Dialect Dialect         // of its headers
	DLQ     header.Position // position of its record
	At      time.Time       // timestamp of that record: when it died last
	Key     []byte          // original key; nil if there was none
	Size    int             // bytes of the original value, even if it is elsewhere
	Control header.Control  // the control headers; unreadable fields are zero

	// ContentHash is the header's hash. Without that header it is a hash over key and value, so that dead letters of
	// other software are deduplicated too.
	ContentHash string
	CauseClass  string   // of other software: class of the outermost exception; otherwise empty
	CausedBy    string   // of other software: class and message of the innermost exception; otherwise empty
	Group       string   // fingerprint of code, stage and [Letter.Pattern]
	Problems    []string // what cannot be read, in words; nil if everything can
	Deaths      int      // DLQ records with this ID; above 1 it was replayed and died again
	State       State    // the last state; zero if there is no state record
	Status      Status   // pending without a state record; empty if the state record cannot be read

	// Gone is when the SQL index noticed that the topic no longer has the dead letter's record. It is zero while the
	// record exists, and in dead letters that were read from the topic itself.
	Gone time.Time

	// FirstAt is when the dead letter first died, of all its records that the SQL index has seen: a failed replay does
	// not make it younger. It is zero in dead letters that were read from the topic itself.
	FirstAt time.Time

	EditOf header.Position // the record that this one edits; zero for an original

	// Pointer is the position of the original, if the DLQ record is only a pointer to it; otherwise nil.
	Pointer *header.Pointer
	// TooLarge is why the record's value is not in memory; empty if it is. Content then has no value, although the
	// record is not a tombstone.
	TooLarge string
	Last     int64 // offset of the last record to which the dead letter points; its own, unless the records there cannot be read

	// Content is the dead letter's DLQ record, only on request.
	Content *Content
}

// Content is the content of a dead letter: bytes and headers exactly as in the DLQ.
type Content struct {
	Value   []byte // original bytes; nil is a tombstone, unless the dead letter is TooLarge
	Head    []byte // the first KiB of them if the dead letter is TooLarge
	Headers []kgo.RecordHeader
}

// Memory returns the memory of the dead letter's value and headers, in bytes.
func (l *Letter) Memory() int {
	if l.Content == nil {
		return 0
	}
	n := len(l.Content.Value)
	for _, h := range l.Content.Headers {
		n += int(unsafe.Sizeof(h)) + len(h.Key) + len(h.Value)
	}
	return n
}

// Source returns the first position of the feature, if it is known.
func (l *Letter) Source() (header.Position, bool) {
	return l.Control.Source, l.Control.HasSource
}

// Replays returns how often the dead letter has been put back: the larger of the counts in its header and its state,
// since only one of them may be known.
func (l *Letter) Replays() int { return max(l.Control.ReplayCount, l.State.ReprocessCount) }
