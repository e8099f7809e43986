package sink

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrTooManyKeys is wrapped when the output topic has more keys than --max-keys allows in memory.
var ErrTooManyKeys = errors.New("more keys than are held in memory")

// keyHash identifies a record key in little memory.
type keyHash [16]byte

func hashKey(key []byte) (h keyHash) {
	sum := sha256.Sum256(key)
	copy(h[:], sum[:])
	return h
}

// recordPosition is the position of the newest record of a key.
type recordPosition struct {
	offset    int64
	millis    int64 // when it was written
	partition int32
}

func recordPositionOf(r *kgo.Record) recordPosition {
	return recordPosition{r.Offset, r.Timestamp.UnixMilli(), r.Partition}
}

// newestRecords has the position of the newest record of each key.
type newestRecords struct {
	places map[keyHash]recordPosition
	most   int
}

// take stores the position of a record under the guard's name of its key. Records of one partition come in order. A key has records in
// several partitions after partitions were added; the record with the latest timestamp counts.
func (n *newestRecords) take(key []byte, r *kgo.Record) error {
	h, now := hashKey(key), recordPositionOf(r)
	before, known := n.places[h]
	if known && before.partition != now.partition && before.millis > now.millis {
		return nil
	}
	if !known && len(n.places) >= n.most {
		return fmt.Errorf("topic %s: %w: --max-keys is %d", r.Topic, ErrTooManyKeys, n.most)
	}
	n.places[h] = now
	return nil
}

// is reports whether a record is the newest of its key.
func (n *newestRecords) is(key []byte, r *kgo.Record) bool {
	return n.places[hashKey(key)] == recordPositionOf(r)
}
