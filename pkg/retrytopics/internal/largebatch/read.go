package largebatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
)

// Read is a large batch at the position of a partition.
type Read struct {
	Topic     string
	Partition int32
	Limit     int // of the size of a record

	At     int64     // next wanted offset of the batch
	End    int64     // where the client continues
	Retry  time.Time // earliest time of the next fetch
	Reader *recordbatch.Reader
	Answer *kmsg.FetchResponseTopicPartition // nil until it is fetched
	unread *recordbatch.Large                // unreadable offsets, from at on; nil if there are none
}

// Item is one offset of a large batch: a record, or a pointer to one that is not read into memory, with the reason.
type Item struct {
	Record  *kgo.Record
	Pointer *header.Pointer
	Refused error
}

const (
	// step bounds how much of large batches is read before the session does its other work.
	step = 4 << 20
	// RetryAfter is the pause between two tries to fetch a large batch.
	RetryAfter = time.Second
	// timeout bounds the fetch of a large batch.
	timeout = 10 * time.Second
	// window bounds the window of zstd. RFC 8878 recommends that decoders accept 8 MiB.
	window = 32 << 20
	// unreadStep is how many unreadable offsets are taken at once.
	unreadStep = 1000
)

// Next returns the next items of a large batch, about as many as a step may have. It returns an error together with
// what was read before it.
func (read *Read) Next(ctx context.Context, client *kgo.Client, id [16]byte) ([]Item, error) {
	if read.unread != nil {
		return read.refuse(), nil
	}
	if read.Answer == nil {
		if err := read.fetch(ctx, client, id); err != nil {
			return nil, err
		}
	}
	var items []Item
	taken := 0
	count := func(r *kgo.Record) error {
		if taken += attempt.Size(r); taken >= step {
			return recordbatch.ErrEnough
		}
		return nil
	}
	from := read.At
	var err error
	read.At, err = read.Reader.Each(ctx, read.Answer, from, read.End,
		func(r *kgo.Record) error {
			items = append(items, Item{Record: r})
			return count(r)
		},
		func(found *recordbatch.Large) error {
			if found.Unread {
				read.unread = found
				return recordbatch.ErrEnough
			}
			items = append(items, pointTo(found))
			return count(found.Record)
		})
	if read.unread != nil {
		read.At = read.unread.Offset
	}
	if err == nil && read.At == from && len(items) == 0 && read.unread == nil {
		err = errors.New("the broker's answer has no batch")
	}
	return items, err
}

// refuse returns pointers to some of the unreadable offsets.
func (read *Read) refuse() (items []Item) {
	for range unreadStep {
		if read.At > read.unread.Last {
			read.unread = nil
			break
		}
		items = append(items, pointToUnread(read.unread, read.At))
		read.At++
	}
	return items
}

// fetch asks the partition's leader for one batch: a broker sends the first one whole, whatever the limit.
func (read *Read) fetch(ctx context.Context, client *kgo.Client, id [16]byte) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	leader, _, err := client.PartitionLeader(read.Topic, read.Partition)
	if err != nil {
		return err
	}
	raw, err := client.Broker(int(leader)).RetriableRequest(ctx, recordbatch.Request(read.Topic, id, read.Partition, read.At, 1))
	if err != nil {
		return err
	}
	answer, err := recordbatch.AnswerOf(raw, read.Partition)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return err
	}
	read.Answer = answer
	if read.Reader == nil {
		limits := recordbatch.Limits{Record: read.Limit, Headers: read.Limit, Window: window}
		read.Reader = recordbatch.NewReader(read.Topic, read.Partition, limits)
	}
	return nil
}

// pointTo makes the pointer to a record that is too large for memory.
func pointTo(found *recordbatch.Large) Item {
	r := found.Record
	at := header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	p := &header.Pointer{Position: at, Bytes: max(found.Bytes, 0), Head: found.Head, Value: found.SHA256}
	switch {
	case found.KeySHA256 != [sha256.Size]byte{}:
		p.Key = &found.KeySHA256
	case len(r.Key) > fit.PointerKey:
		sum := sha256.Sum256(r.Key)
		p.Key, r.Key = &sum, nil
	}
	return Item{Record: r, Pointer: p, Refused: fit.TooLarge(found.Why)}
}

// pointToUnread makes the pointer to an unreadable offset.
func pointToUnread(of *recordbatch.Large, offset int64) Item {
	at := header.Position{Topic: of.Topic, Partition: of.Partition, Offset: offset}
	r := *of.Record
	r.Offset = offset
	return Item{Record: &r, Pointer: &header.Pointer{Position: at}, Refused: fit.Unreadable(of.Why)}
}
