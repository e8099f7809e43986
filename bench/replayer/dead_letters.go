package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// deadLetter is one dead letter, and the records of its replay.
type deadLetter struct {
	dead, back, state, event *kgo.Record
}

// deadLettersPerTransaction is the number of dead letters in one transaction of the bare producer, the same as the replayer's.
const deadLettersPerTransaction = 2000

// make builds the ith dead letter: a parcel of about 500 bytes.
func (b *bench) make(i int) (*deadLetter, error) {
	x := float64(i%3600)/10 - 180
	id := fmt.Sprintf("parcel-%d", i)
	value := fmt.Appendf(nil, `{"type":"Feature","id":%q,"geometry":{"type":"Polygon","coordinates":[[[%.4f,47.1],[%.4f,47.1],[%.4f,47.2],[%.4f,47.2],[%.4f,47.1]]]},`+
		`"properties":{"parcel_id":%q,"owner":{"name":"somebody with a name","since":"1998-04-01"},"land_use":"orchard","district":"north-west","area_m2":%d,`+
		`"note":"surveyed again after the flood of 2013, boundary stones in place","updated":"2026-11-03T04:05:06Z"}}`,
		id, x, x+0.01, x+0.01, x, x, id, i)
	partition := int32(i) % b.partitions
	source := header.Position{Topic: b.id, Partition: partition, Offset: int64(i) / int64(b.partitions)}
	at := time.Now().UTC().Truncate(time.Millisecond)
	c := header.Control{
		Attempt: 1, MaxAttempts: 5, FirstFailedAt: at, FailedAt: at, SourceTimestamp: at, ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate",
		ErrorMessage: "a ring meets itself", Source: source, HasSource: true, ContentHash: idempotency.Of(value).String(), FeatureID: id,
		RunID: "bench", Pipeline: b.id, DeadLetterID: fmt.Sprintf("%d-%d-%08x", partition, source.Offset, i),
	}
	headers := c.AppendTo(nil)
	if b.foreign {
		headers = springHeaders(source, at)
	}
	l := &deadLetter{dead: &kgo.Record{Topic: b.dlq(), Partition: partition, Key: []byte(id), Value: value, Headers: headers}}
	back := header.Control{
		Source: source, HasSource: true, SourceTimestamp: at, ContentHash: c.ContentHash, DeadLetterID: c.DeadLetterID, ReplayID: "replay-20261103T040506Z-1a2b3c4d", ReplayCount: 1,
	}
	l.back = &kgo.Record{Topic: b.id + ".bare", Partition: partition, Key: []byte(id), Value: value, Headers: back.AppendTo(nil)}
	l.state = deadletters.State{
		ID: c.DeadLetterID, Status: deadletters.Replaying, Source: source, DLQ: header.Position{Topic: b.id + ".dlq", Partition: partition},
		KeyHash: idempotency.HashKey([]byte(id)), ContentHash: c.ContentHash, ReplayID: back.ReplayID, Reason: "bench", By: "bench", At: at,
	}.Record(b.id+".bare", partition)
	event, err := audit.Event{
		Time: at, Pipeline: b.id, RunID: back.ReplayID, Source: source.String(), FeatureID: id, ContentHash: c.ContentHash, Decision: audit.Replayed, Reason: "bench",
		Code: c.ErrorCode, Class: c.ErrorClass, Stage: c.ErrorStage, Attempt: 1, Destination: b.id, DeadLetter: c.DeadLetterID, By: "bench", Before: c.ContentHash, After: c.ContentHash,
		Plan: c.ContentHash, Message: "dead letter " + c.DeadLetterID + ": pending -> replaying by bench, replay 1 of this letter", Key: []byte(id),
	}.Record(b.id+".bare", partition)
	l.event = event
	return l, err
}

// springHeaders returns the headers of Spring's DeadLetterPublishingRecoverer, with a stack trace of about a kilobyte.
func springHeaders(source header.Position, at time.Time) []kgo.RecordHeader {
	text := func(name, value string) kgo.RecordHeader {
		return kgo.RecordHeader{Key: "kafka_dlt-" + name, Value: []byte(value)}
	}
	long := func(name string, n int64) kgo.RecordHeader {
		return kgo.RecordHeader{Key: "kafka_dlt-" + name, Value: binary.BigEndian.AppendUint64(nil, uint64(n))}
	}
	return []kgo.RecordHeader{
		text("original-topic", source.Topic), {Key: "kafka_dlt-original-partition", Value: binary.BigEndian.AppendUint32(nil, uint32(source.Partition))},
		long("original-offset", source.Offset), long("original-timestamp", at.UnixMilli()), text("original-timestamp-type", "CreateTime"),
		text("original-consumer-group", "payments"), text("exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException"),
		text("exception-cause-fqcn", "java.lang.IllegalArgumentException"), text("exception-message", "Listener failed; No enum constant Status.OPEN"),
		text("exception-stacktrace", strings.Repeat("\tat org.springframework.kafka.listener.KafkaMessageListenerContainer$ListenerConsumer.run\n", 12)),
	}
}

// produceDeadLetters produces the dead letters to the DLQ.
func (b *bench) produceDeadLetters(ctx context.Context) error {
	var failed error
	for i := range b.deadLetters {
		l, err := b.make(i)
		if err != nil {
			return err
		}
		b.client.Produce(ctx, l.dead, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := b.client.Flush(ctx); err != nil {
		return err
	}
	return failed
}

// bare produces the records that pick returns for each dead letter, in transactions, and does nothing else. Like the
// replayer, it builds each record when it is needed.
func (b *bench) bare(ctx context.Context, pick func(*deadLetter) []*kgo.Record) (time.Duration, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(b.id+"-bare"), kgo.ProducerLinger(0))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	began := time.Now()
	for done := 0; done < b.deadLetters; {
		if err := cl.BeginTransaction(); err != nil {
			return 0, err
		}
		for end := min(done+deadLettersPerTransaction, b.deadLetters); done < end; done++ {
			l, err := b.make(done)
			if err != nil {
				return 0, err
			}
			for _, r := range pick(l) {
				cl.Produce(ctx, r, nil)
			}
		}
		if err := cl.Flush(ctx); err != nil {
			return 0, err
		}
		if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// count reads the reinjected records. It returns the time between the timestamps of the first and the last one, and
// their number.
func (b *bench) count(ctx context.Context) (time.Duration, int, error) {
	spans, err := kafka.Spans(ctx, b.client, b.id)
	if err != nil {
		return 0, 0, err
	}
	var first, last time.Time
	n := 0
	err = kafka.Scan(ctx, b.client, b.id, spans, func(r *kgo.Record) error {
		n++
		if first.IsZero() || r.Timestamp.Before(first) {
			first = r.Timestamp
		}
		if r.Timestamp.After(last) {
			last = r.Timestamp
		}
		return nil
	})
	return last.Sub(first), n, err
}
