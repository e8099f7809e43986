package recordbatch

import (
	"crypto/sha256"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Limits bound what is held in memory of one record, and how much of one batch is decompressed.
type Limits struct {
	Record  int   // bytes of a record without its headers; a larger one is given as [Large]
	Headers int   // bytes that the headers of a record take in memory; a record with more is given as [Large]. 0 is 1 MiB
	Batch   int64 // bytes that one batch is decompressed to before the rest of it is given up. 0 is 4 GiB
	Window  int   // bytes that zstd may keep of a batch. 0 is 128 MiB; the Java client takes no larger one either

	// Keep reports whether a header is kept of a record whose headers are too large; nil keeps none.
	Keep func(name string) bool
}

const (
	headerWeight   = 40        // bytes that a header takes in memory beside its name and its value
	usualHeaders   = 1 << 20   // see Limits.Headers
	maxChosenBytes = 1 << 20   // of the headers that are kept of too many, with their weight
	maxKeyBytes    = 1 << 20   // of a record that is too large
	headBytes      = 1 << 10   // of the value of a record that is too large
	usualBatch     = 4 << 30   // see Limits.Batch
	usualWindow    = 128 << 20 // see Limits.Window
	maxBlock       = 64 << 20  // that snappy decompresses at once
)

// Large is a record that is too large to be held in memory, or a part of a batch that cannot be read.
type Large struct {
	// Record has topic, partition, offset and timestamp. It has key and headers when they are not too large themselves, and
	// never a value.
	*kgo.Record

	Last      int64             // offset of the last record that it stands for; Record.Offset for one record
	Bytes     int64             // of the value; -1 for a tombstone, 0 when nothing could be read
	Head      []byte            // the first KiB of the value
	SHA256    [sha256.Size]byte // of the value
	KeySHA256 [sha256.Size]byte // of a key that is too large itself; else zero
	Stored    int               // bytes of the batch as the broker has it
	Why       string            // what is too large, or why nothing could be read
	Crowded   string            // why headers are missing in Record; "" when it has all of them
	Unread    bool              // nothing is known of the records but their offsets and about when they were written
}

// String says what lies where, and why it was not read.
func (l *Large) String() string {
	if l.Unread {
		return fmt.Sprintf("%s/%d offsets %d to %d (%d bytes compressed) cannot be read: %s", l.Topic, l.Partition, l.Offset, l.Last, l.Stored, l.Why)
	}
	return fmt.Sprintf("%s/%d/%d is too large: %s", l.Topic, l.Partition, l.Offset, l.Why)
}
