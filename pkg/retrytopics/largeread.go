package retrytopics

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// largeRead is a large batch at the position of a partition.
type largeRead struct {
	topic     string
	partition int32
	limit     int // of the size of a record

	at     int64     // next wanted offset of the batch
	next   int64     // where the client goes on
	retry  time.Time // earliest time of the next fetch
	reader *recordbatch.Reader
	answer *kmsg.FetchResponseTopicPartition // nil until it is fetched
	unread *recordbatch.Large                // unreadable offsets, from at on; nil if there are none
}

// largeItem is one offset of a large batch: a record, or a pointer to one that is not read into memory, with the reason.
type largeItem struct {
	record  *kgo.Record
	pointer *header.Pointer
	refused error
}

const (
	// largeStep bounds how much of large batches is read before the session does its other work.
	largeStep = 4 << 20
	// largeRetry is the pause between two tries to fetch a large batch.
	largeRetry = time.Second
	// largeTimeout bounds the fetch of a large batch.
	largeTimeout = 10 * time.Second
	// largeWindow bounds the window of zstd. RFC 8878 recommends that decoders accept 8 MiB.
	largeWindow = 32 << 20
	// unreadStep is how many unreadable offsets are taken at once.
	unreadStep = 1000
)

// more returns the next items of a large batch, about as many as a step may have. It returns an error together with
// what was read before it.
func (read *largeRead) more(ctx context.Context, client *kgo.Client, id [16]byte) ([]largeItem, error) {
	if read.unread != nil {
		return read.refuse(), nil
	}
	if read.answer == nil {
		if err := read.fetch(ctx, client, id); err != nil {
			return nil, err
		}
	}
	var items []largeItem
	taken := 0
	step := func(r *kgo.Record) error {
		if taken += size(r); taken >= largeStep {
			return recordbatch.ErrEnough
		}
		return nil
	}
	from := read.at
	var err error
	read.at, err = read.reader.Each(ctx, read.answer, from, read.next,
		func(r *kgo.Record) error {
			items = append(items, largeItem{record: r})
			return step(r)
		},
		func(found *recordbatch.Large) error {
			if found.Unread {
				read.unread = found
				return recordbatch.ErrEnough
			}
			items = append(items, pointTo(found))
			return step(found.Record)
		})
	if read.unread != nil {
		read.at = read.unread.Offset
	}
	if err == nil && read.at == from && len(items) == 0 && read.unread == nil {
		err = errors.New("the broker's answer has no batch")
	}
	return items, err
}

// refuse returns pointers to some of the unreadable offsets.
func (read *largeRead) refuse() (items []largeItem) {
	for range unreadStep {
		if read.at > read.unread.Last {
			read.unread = nil
			break
		}
		items = append(items, pointToUnread(read.unread, read.at))
		read.at++
	}
	return items
}

// fetch asks the partition's leader for one batch: a broker sends the first one whole, whatever the limit.
func (read *largeRead) fetch(ctx context.Context, client *kgo.Client, id [16]byte) error {
	ctx, cancel := context.WithTimeout(ctx, largeTimeout)
	defer cancel()
	leader, _, err := client.PartitionLeader(read.topic, read.partition)
	if err != nil {
		return err
	}
	raw, err := client.Broker(int(leader)).RetriableRequest(ctx, recordbatch.Request(read.topic, id, read.partition, read.at, 1))
	if err != nil {
		return err
	}
	answer, err := recordbatch.AnswerOf(raw, read.partition)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return err
	}
	read.answer = answer
	if read.reader == nil {
		limits := recordbatch.Limits{Record: read.limit, Headers: read.limit, Window: largeWindow}
		read.reader = recordbatch.NewReader(read.topic, read.partition, limits)
	}
	return nil
}

// pointTo makes the pointer to a record that is too large for memory.
func pointTo(found *recordbatch.Large) largeItem {
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
	return largeItem{record: r, pointer: p, refused: &fit.SizeError{Why: found.Why}}
}

// pointToUnread makes the pointer to an unreadable offset.
func pointToUnread(of *recordbatch.Large, offset int64) largeItem {
	at := header.Position{Topic: of.Topic, Partition: of.Partition, Offset: offset}
	r := *of.Record
	r.Offset = offset
	return largeItem{record: &r, pointer: &header.Pointer{Position: at}, refused: &fit.BatchError{Err: errors.New(of.Why)}}
}
