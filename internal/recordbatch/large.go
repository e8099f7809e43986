package recordbatch

import (
	"crypto/sha256"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Limits limit the memory of one record, and the decompressed bytes of one batch.
type Limits struct {
	Record  int   // bytes of a record without its headers; a larger one is passed on as [Large]
	Headers int   // memory of a record's headers; a record with more is passed on as [Large]. 0 is 1 MiB
	Batch   int64 // bytes of a batch that are decompressed before the remaining batch is given up. 0 is 4 GiB
	Window  int   // bytes of a batch that zstd may keep. 0 is 128 MiB, which is also the Java client's limit

	// Keep reports whether a header is kept if all headers of a record are too large; nil keeps none.
	Keep func(name string) bool
}

const (
	headerWeight   = 40        // memory of a header besides its name and its value
	usualHeaders   = 1 << 20   // see Limits.Headers
	maxChosenBytes = 1 << 20   // of the headers that are kept if all are too large, with their weight
	maxKeyBytes    = 1 << 20   // of the key of a record that is too large
	headBytes      = 1 << 10   // of the value of a record that is too large
	usualBatch     = 4 << 30   // see Limits.Batch
	usualWindow    = 128 << 20 // see Limits.Window
	maxBlock       = 64 << 20  // of one block of snappy
)

// Large is a record that is too large for memory, or a part of a batch that cannot be read.
type Large struct {
	// Record has topic, partition, offset and timestamp, and key and headers unless these are too large themselves.
	// It never has a value.
	*kgo.Record

	Last      int64             // last offset of the range; Record.Offset for one record
	Bytes     int64             // of the value; -1 for a tombstone, 0 if nothing can be read
	Head      []byte            // the first KiB of the value
	SHA256    [sha256.Size]byte // of the value
	KeySHA256 [sha256.Size]byte // of a key that is too large itself; otherwise zero
	Stored    int               // compressed bytes of the batch
	Why       string            // what is too large, or why nothing can be read
	Crowded   string            // why Record lacks headers; "" if it has all of them
	Unread    bool              // only the offsets and an approximate time of the records are known
}

// String names the position and the reason.
func (l *Large) String() string {
	if l.Unread {
		return fmt.Sprintf("%s/%d offsets %d to %d (%d bytes compressed) cannot be read: %s", l.Topic, l.Partition, l.Offset, l.Last, l.Stored, l.Why)
	}
	return fmt.Sprintf("%s/%d/%d is too large: %s", l.Topic, l.Partition, l.Offset, l.Why)
}
