package sinkverify

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrTooMany is wrapped when the output topic has more keys than are held in memory.
var ErrTooMany = errors.New("more keys than are held in memory")

// keyHash stands for a record key.
type keyHash [16]byte

func hashOf(key []byte) (h keyHash) {
	sum := sha256.Sum256(key)
	copy(h[:], sum[:])
	return h
}

// place is where the newest record of a key lies.
type place struct {
	offset    int64
	millis    int64 // when it was written
	partition int32
}

func placeOf(r *kgo.Record) place { return place{r.Offset, r.Timestamp.UnixMilli(), r.Partition} }

// newest knows where the newest record of each key lies.
type newest struct {
	places map[keyHash]place
	most   int
}

// take notes a record under the name that the guard has for its key; those of one partition come in their order. Of records of one key in
// several partitions, where they lie since partitions were added, the one that was written last counts.
func (n *newest) take(key []byte, r *kgo.Record) error {
	h, now := hashOf(key), placeOf(r)
	before, known := n.places[h]
	if known && before.partition != now.partition && before.millis > now.millis {
		return nil
	}
	if !known && len(n.places) >= n.most {
		return fmt.Errorf("topic %s: %w: --max-keys is %d", r.Topic, ErrTooMany, n.most)
	}
	n.places[h] = now
	return nil
}

// is says whether a record is the newest of its key.
func (n *newest) is(key []byte, r *kgo.Record) bool { return n.places[hashOf(key)] == placeOf(r) }
