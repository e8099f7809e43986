package target

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// ErrManyKeys marks topics with new values of more keys than fit in memory. Match it with errors.Is.
var ErrManyKeys = errors.New("too many keys have newer values to keep them in memory")

// maxKeys bounds the number of keys if Newest.Keys is nil.
const maxKeys = 1_000_000

// Newest has the newest value of each key of compacted topics. Tombstones count as values. It is for one goroutine at
// a time.
type Newest struct {
	// Keys are the keys to look for, sorted; nil is any key, up to a limit.
	Keys []idempotency.KeyHash
	// Ignore reports whether a record does not count as a value; nil ignores none.
	Ignore func(*kgo.Record) bool
	// Ends has the offsets up to which each topic was read. Read continues there.
	Ends map[string]map[int32]int64

	values map[string]map[idempotency.KeyHash]value
	kept   int
}

// value describes the newest value of a key.
type value struct {
	partition int32 // -1 if several partitions have values of the key
	offset    int64
	at        time.Time // timestamp of the newest value
}

// Read reads the records that were written to a topic since the last Read.
func (n *Newest) Read(ctx context.Context, client *kgo.Client, topic string) error {
	spans, err := kafka.Spans(ctx, client, topic)
	if err != nil {
		return err
	}
	ends := maps.Clone(n.Ends[topic])
	if ends == nil {
		ends = map[int32]int64{}
	}
	for p, span := range spans {
		if read := ends[p]; read <= span.End { // otherwise the topic was created anew
			span.Start = max(span.Start, read)
		}
		ends[p], spans[p] = span.End, span
	}
	add := func(r *kgo.Record) error {
		if r.Key == nil {
			return nil
		}
		return n.add(idempotency.HashKey(r.Key), r)
	}
	large := func(l *recordbatch.Large) error { // only its key matters
		switch {
		case l.Unread:
			return errors.New(l.String())
		case l.KeySHA256 != [sha256.Size]byte{}:
			return n.add(idempotency.KeyHash(l.KeySHA256[:len(idempotency.KeyHash{})]), l.Record)
		}
		return add(l.Record)
	}
	if err := kafka.ScanWith(ctx, client, topic, spans, 1, add, large); err != nil {
		return fmt.Errorf("look for newer values in topic %s: %w", topic, kafka.DeniedTopic("Read", topic, err))
	}
	if n.Ends == nil {
		n.Ends = map[string]map[int32]int64{}
	}
	n.Ends[topic] = ends
	return nil
}

func (n *Newest) add(key idempotency.KeyHash, r *kgo.Record) error {
	if n.Keys != nil {
		if _, wanted := slices.BinarySearchFunc(n.Keys, key, idempotency.KeyHash.Compare); !wanted {
			return nil
		}
	}
	if n.Ignore != nil && n.Ignore(r) {
		return nil
	}
	values := n.values[r.Topic]
	if values == nil {
		if n.values == nil {
			n.values = map[string]map[idempotency.KeyHash]value{}
		}
		values = map[idempotency.KeyHash]value{}
		n.values[r.Topic] = values
	}
	v, known := values[key]
	switch {
	case !known && n.kept >= maxKeys && n.Keys == nil:
		return fmt.Errorf("%w: %d", ErrManyKeys, n.kept)
	case !known:
		n.kept++
		v = value{partition: r.Partition}
	case v.partition != r.Partition:
		v.partition = -1
	}
	v.offset = r.Offset
	if r.Timestamp.After(v.at) {
		v.at = r.Timestamp
	}
	values[key] = v
	return nil
}

// Than reports whether a key has a newer value in a topic than a record with the given position and timestamp.
// Offsets decide in the partition of the record, timestamps elsewhere. A record of unknown age is older than any
// value.
func (n *Newest) Than(topic string, key idempotency.KeyHash, from header.Position, at time.Time) bool {
	v, known := n.values[topic][key]
	switch {
	case !known:
		return false
	case from.Topic == topic && from.Offset >= n.Ends[topic][from.Partition]: // no record can have this position
		return true
	case from.Topic == topic && from.Partition == v.partition:
		return v.offset > from.Offset
	}
	return at.IsZero() || v.at.After(at)
}
