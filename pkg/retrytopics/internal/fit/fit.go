package fit

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// headersReserve is more than an output's control headers need; they are written after the output is checked. Of a topic
// with a small limit, smallShare of the limit is reserved for them, and the broker decides about the rest.
const (
	headersReserve = 2 << 10
	smallShare     = 8
)

// What a pointer record contains besides the pointer: a key and headers that fit into any topic.
const (
	PointerKey     = 64 << 10
	pointerHeaders = 64 << 10
)

// Outputs returns an error if a topic does not accept its output.
func Outputs(limits *kafka.Limits, outputs []*kgo.Record) error {
	for _, out := range outputs {
		if compacted, _ := limits.Compacts(out.Topic); compacted && out.Key == nil {
			return &OutputError{&KeylessError{Topic: out.Topic}}
		}
		limit, told := limits.Of(out.Topic)
		if told && !limits.Compressor().Fits(out, limit-min(headersReserve, limit/smallShare)) {
			return &OutputError{fmt.Errorf("%d bytes, even compressed, are more than topic %s accepts (max.message.bytes is %d): raise it, or map less",
				recordbatch.Bytes(out), out.Topic, limit)}
		}
	}
	return nil
}

// Kept reports whether a topic accepts a record with any control headers. bytes is the largest size of the record
// without them, in bytes.
func Kept(limits *kafka.Limits, topic string, r *kgo.Record, bytes int) bool {
	limit, told := limits.Of(topic)
	return !told || bytes+header.MaxBytes <= limit || limits.Compressor().Fits(r, limit-header.MaxBytes)
}

// Pointer returns the pointer to a record.
func Pointer(r *kgo.Record) *header.Pointer {
	at := header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	p := header.PointTo(at, r.Key, r.Value, len(r.Key) <= PointerKey)
	return &p
}

// PointerRecord returns the record with a pointer instead of the original. own makes the headers, producers are those of
// the producer.
func PointerRecord(topic string, r *kgo.Record, p *header.Pointer, producers []kgo.RecordHeader, control *header.Control, own *header.Buffer) *kgo.Record {
	kept := &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: []byte{}}
	if len(kept.Key) > PointerKey {
		kept.Key = nil
	}
	if recordbatch.Bytes(&kgo.Record{Headers: producers}) > pointerHeaders {
		producers = nil
	}
	kept.Headers = p.Append(own.Append(producers, control))
	return kept
}
