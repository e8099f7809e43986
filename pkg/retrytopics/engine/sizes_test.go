package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// compressed produces records of any size to the source, compressed by the client.
func (b *broker) compressed(records ...*kgo.Record) {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(90<<20),
		kgo.DefaultProduceTopic(source), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must.That(b.t, err == nil, "%v", err)
	defer client.Close()
	must.Do(b.t, client.ProduceSync(b.t.Context(), records...).FirstErr())
}

// A batch that decompresses to more than is read at once is read record by record, before and after ordinary batches. A
// record too large for memory becomes a pointer. One partition begins with such a batch and one ends with it.
func TestEngine_S4_15_largeBatchesAreReadRecordByRecord(t *testing.T) {
	b := newBroker(t)
	blank := bytes.Repeat([]byte{' '}, 20<<20)
	wide := bytes.Repeat([]byte{'w'}, 3<<20)
	var records []*kgo.Record
	add := func(partition int32, key string, value []byte) {
		records = append(records, &kgo.Record{Partition: partition, Key: []byte(key), Value: value, Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte(key)}}})
	}
	add(0, "bomb-0", blank)
	add(0, "after-0", []byte("v"))
	add(1, "before-1", []byte("v"))
	for i := range 8 { // 24 MiB in one batch
		add(1, fmt.Sprint("wide-", i), wide)
	}
	add(1, "bomb-1", blank)
	b.compressed(records...)
	b.drain(b.engine(b.config(copied)))
	expect.Equal(t, len(b.read(output)), len(records)-2, "outputs")
	dead := b.read(source + ".dlq")
	must.That(t, len(dead) == 2, "%d dead letters, want 2", len(dead))
	for _, r := range dead {
		p, ok, err := header.ParsePointer(r.Headers)
		expect.That(t, ok && err == nil && p.Bytes == int64(len(blank)) && p.Value == sha256.Sum256(blank) && p.Position.String() == headerOf(r, header.KeySource), "dead letter %s: %+v, %v", r.Key, p, err)
		expect.That(t, len(r.Value) == 0 && r.Value != nil && bytes.HasPrefix(r.Key, []byte("bomb-")) && headerOf(r, header.KeyErrorCode) == string(classify.CodeRecordTooLarge), "dead letter %s with %d bytes and the code %s", r.Key, len(r.Value), headerOf(r, header.KeyErrorCode))
		expect.That(t, headerOf(r, "ce_id") == string(r.Key), "dead letter %s lost its producer's headers: %v", r.Key, r.Headers)
	}
}

// Each offset of a batch that cannot be decompressed becomes a pointer. The records before and after it are processed.
func TestEngine_S4_15_eachOffsetOfAnUnreadableBatchBecomesAPointer(t *testing.T) {
	b := newBroker(t)
	const lost = 2500 // more than one step takes
	unreadable := bombs.Batch(kgo.CodecNone, time.UnixMilli(1_790_000_000_000), bombs.Record{Value: []byte("1")}, bombs.Record{Value: []byte("2")})
	unreadable.Attributes, unreadable.NumRecords, unreadable.LastOffsetDelta = int16(kgo.CodecZstd), lost, lost-1
	unreadable.Records = []byte("\x28\xb5\x2f\xfd\x00\x90\x09\x00\x00a") // a window of 256 MiB, and one byte
	around := func(key string) { b.compressed(&kgo.Record{Key: []byte(key), Value: []byte("v")}) }
	around("before")
	first := must.Get(bombs.Produce(t.Context(), b.client, source, 0, unreadable))(t)
	around("after")
	b.drain(b.engine(b.config(copied)))
	expect.Equal(t, len(b.read(output)), 2, "outputs")
	at := map[string]int{}
	for _, r := range b.read(source + ".dlq") {
		at[headerOf(r, header.KeySource)]++
		p, ok, err := header.ParsePointer(r.Headers)
		must.That(t, ok && err == nil && !p.Read() && p.Position.String() == headerOf(r, header.KeySource) && headerOf(r, header.KeyErrorCode) == string(classify.CodeBatchUnreadable), "%+v: %+v, %v", r, p, err)
	}
	for offset := first; offset < first+lost; offset++ {
		expect.Equal(t, at[header.Position{Topic: source, Offset: offset}.String()], 1, "offset", offset, "dead letters")
	}
	expect.That(t, len(at) == lost, "%d dead letters, want %d", len(at), lost)
}

// A record that neither a tier nor the DLQ accepts, because somebody lowered their limits, becomes a pointer with the
// failure for which it should have been retried.
func TestEngine_S4_15_whatCanBeKeptNowhereBecomesAPointer(t *testing.T) {
	b := newBroker(t)
	f := &failing{n: 1, err: unavailable}
	cfg := b.config(f.handle)
	e := b.engine(cfg)
	b.configures("max.message.bytes", "100000", cfg.Retries.Tiers[0].Topic, cfg.Retries.Tiers[1].Topic, cfg.Retries.Tiers[2].Topic, source+".dlq")
	value := noise(200_000)
	b.produce(append(events(5), &kgo.Record{Key: []byte("large"), Value: value, Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("7")}}})...)
	b.drain(e)
	expect.Equal(t, len(b.read(output)), 5, "outputs")
	dead := b.read(source + ".dlq")
	must.That(t, len(dead) == 1, "%d dead letters, want 1", len(dead))
	p, ok, err := header.ParsePointer(dead[0].Headers)
	expect.That(t, ok && err == nil && p.Value == sha256.Sum256(value) && bytes.Equal(p.Head, value[:header.MaxPointerHead]), "pointer %+v, %v, %v", p, ok, err)
	got := headerOf(dead[0], header.KeyErrorCode)
	expect.That(t, got == string(classify.CodeHTTPUnavailable) && headerOf(dead[0], "ce_id") == "7" && string(dead[0].Key) == "large", "the dead letter %s has the code %s", dead[0].Key, got)
}

// The records of one transaction for one partition may exceed the topic's batch limit. They are sent in several batches,
// in order.
func TestEngine_aTransactionIsLargerThanABatch(t *testing.T) {
	b := newBroker(t)
	const records, each = 200, 20_000 // 4 MB that do not compress
	var all []*kgo.Record
	for i := range records {
		all = append(all, &kgo.Record{Key: fmt.Append(nil, i), Value: append([]byte(strconv.Itoa(i)+" "), noise(each)...)})
	}
	b.produce(all...)
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{Outputs: []*kgo.Record{{Topic: output, Key: []byte("one"), Value: r.Value}}}, nil
	})
	cfg.Timing.Commit = 500e6
	aborted := 0
	cfg.Hooks.OnTransaction = func(_ time.Duration, committed bool) {
		if !committed {
			aborted++
		}
	}
	b.drain(b.engine(cfg))
	seen := map[string]bool{}
	for _, r := range b.read(output) {
		number, _, _ := bytes.Cut(r.Value, []byte(" "))
		seen[string(number)] = true
	}
	expect.That(t, len(seen) == records && aborted == 0, "%d of %d outputs, %d transactions aborted", len(seen), records, aborted)
}

// S0-4: a record keeps all headers of its producer, delivered or dead-lettered, however many there are.
func TestEngine_S0_4_manyHeaders(t *testing.T) {
	b := newBroker(t)
	var own []kgo.RecordHeader
	for i := range 10_000 {
		own = append(own, kgo.RecordHeader{Key: "h" + strconv.Itoa(i), Value: []byte("a value of 20 bytes!")})
	}
	b.produce(&kgo.Record{Key: []byte("good"), Value: []byte("v"), Headers: own}, &kgo.Record{Key: []byte("bad"), Value: []byte("v"), Headers: own})
	b.drain(b.engine(b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if string(r.Key) == "bad" {
			return retrytopics.Result{}, errors.New("it is bad")
		}
		return retrytopics.Result{Outputs: []*kgo.Record{{Topic: output, Key: r.Key, Value: r.Value, Headers: r.Headers}}}, nil
	})))
	for topic, key := range map[string]string{output: "good", source + ".dlq": "bad"} {
		got := b.read(topic)
		expect.That(t, len(got) == 1 && string(got[0].Key) == key && reflect.DeepEqual(header.ProducerHeaders(got[0].Headers), own), "%s does not have only the record %s with its headers: %d records", topic, key, len(got))
	}
}

// A record that other software wrote into the memory is not skipped, because it may have replaced what is remembered.
// The engine stops.
func TestEngine_S0_4_aMemoryWithRecordsOfOthersEndsTheEngine(t *testing.T) {
	for _, at := range [][2]string{{".state", "k"}, {".state", "s/k"}, {".state", "v/k"}, {".state", ""}, {".ledger", "k"}} {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			b := newBroker(t)
			cfg := b.config(copied)
			cfg.Dedupe = retrytopics.Dedupe{Window: time.Hour, LedgerTopic: source + ".ledger"}
			cfg.Ordering = retrytopics.Ordering{Mode: retrytopics.OrderStrict, StateTopic: source + ".state"}
			e := b.engine(cfg)
			b.produce(append(events(2), &kgo.Record{Topic: source + at[0], Key: []byte(at[1]), Value: []byte("\x01no json")})...)
			ctx := testrun.Context(t, 30*time.Second)
			err := e.RunUntilEnd(ctx)
			expect.That(t, errors.Is(err, engine.ErrAlienMemory) && strings.Contains(err.Error(), source+at[0]+"/"), "got %v", err)
		})
	}
}

// A partition that ends before its committed offset was truncated, or its topic was re-created. The engine reports it
// and stops: new records have the offsets of old ones and would be skipped or taken for older.
func TestEngine_S0_4_aPartitionThatWasCutEndsTheEngine(t *testing.T) {
	for left, runs := range map[int][]func(*engine.Engine, context.Context) error{
		20: {(*engine.Engine).Run, (*engine.Engine).RunUntilEnd},
		0:  {(*engine.Engine).RunUntilEnd}, // no record shows it; only the end offsets do
	} {
		t.Run(strconv.Itoa(left), func(t *testing.T) {
			b := newBroker(t)
			b.produce(events(left)...)
			cfg := b.config(copied)
			b.resets(cfg.Group, 1000)
			ctx := testrun.Context(t, 30*time.Second)
			for _, run := range runs {
				err := run(b.engine(cfg), ctx)
				expect.That(t, errors.Is(err, engine.ErrLogTruncated) && strings.Contains(err.Error(), "and 1000 is committed") && strings.Contains(err.Error(), source+" partition "), "got %v", err)
			}
			expect.Equal(t, len(b.read(output)), 0, "records that took effect")
		})
	}
}

// refuseBatches makes the output topic refuse each whole batch that contains a refused record, as a broker does.
func (b *broker) refuseBatches(cluster *kfake.Cluster, code func() int16, refused func(*kmsg.Record) bool) {
	b.cacheIDs(output)
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		response := request.ResponseKind().(*kmsg.ProduceResponse)
		some := false
		for _, topic := range request.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition = p.Partition // the transaction is aborted, so the answers for other partitions do not matter
				if (topic.Topic == output || topic.TopicID == b.topicID(output)) && slices.ContainsFunc(recordsOf(b.t, p.Records), func(r kmsg.Record) bool { return refused(&r) }) {
					rp.ErrorCode, some = code(), true
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			response.Topics = append(response.Topics, rt)
		}
		return response, nil, some
	})
}

func recordsOf(t *testing.T, raw []byte) []kmsg.Record {
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(raw); err != nil {
		t.Error(err)
		return nil
	}
	data := batch.Records
	if codec := batch.Attributes & 7; codec != 0 {
		var err error
		if data, err = kgo.DefaultDecompressor().Decompress(data, kgo.CompressionCodecType(codec)); err != nil {
			t.Error(err)
			return nil
		}
	}
	records := make([]kmsg.Record, batch.NumRecords)
	for i := range records {
		length, n := int(data[0]>>1), 1 // zigzag varint
		for shift := 7; data[n-1]&0x80 != 0; n, shift = n+1, shift+7 {
			if n == 1 {
				length = int(data[0]&0x7f) >> 1
				shift = 6
			}
			length |= int(data[n]&0x7f) << shift
		}
		if err := records[i].ReadFrom(data[:n+length]); err != nil {
			t.Error(err)
			return nil
		}
		data = data[n+length:]
	}
	return records
}

// keyless removes the keys of some events.
func keyless(records []*kgo.Record, which ...int) []*kgo.Record {
	for _, i := range which {
		records[i].Key = nil
	}
	return records
}

// S0-4: an output that a compacted topic refuses becomes one dead letter with the reason, and no other record is
// affected: whether the cluster told that the topic is compacted, was not asked, or refuses the record for another
// reason.
func TestEngine_S0_4_aRefusedOutputTakesNoOtherAlong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		compacted bool
		outputs   []string
		code      *kerr.Error
		refused   func(*kmsg.Record) bool
		want      classify.Code
	}{
		"told before":       {true, []string{output}, kerr.InvalidRecord, func(r *kmsg.Record) bool { return r.Key == nil }, classify.CodeNullKey},
		"told afterwards":   {true, nil, kerr.InvalidRecord, func(r *kmsg.Record) bool { return r.Key == nil }, classify.CodeNullKey},
		"invalid otherwise": {false, []string{output}, kerr.InvalidRecord, func(r *kmsg.Record) bool { return r.Key == nil }, classify.CodeBrokerRejected},
		"invalid with keys": {false, []string{output}, kerr.InvalidRecord, func(r *kmsg.Record) bool { return string(r.Value) == "v60" || string(r.Value) == "v61" }, classify.CodeBrokerRejected},
		"a timestamp":       {false, []string{output}, kerr.InvalidTimestamp, func(r *kmsg.Record) bool { return string(r.Key) == "k60" }, classify.CodeBrokerRejected},
		"too large":         {false, nil, kerr.MessageTooLarge, func(r *kmsg.Record) bool { return string(r.Value) == "v61" || r.Key == nil }, classify.CodeOutputTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			b, cluster := newBrokerOf(t)
			if c.compacted {
				b.configures("cleanup.policy", "compact", output)
			}
			records := keyless(events(200), 3, 90, 150)
			want := map[string]bool{}
			for _, r := range records {
				if c.refused(&kmsg.Record{Key: r.Key, Value: r.Value}) {
					want[string(r.Value)] = true
				}
			}
			b.produce(records...)
			cfg := b.config(copied)
			cfg.Outputs = c.outputs
			e := b.engine(cfg)
			b.refuseBatches(cluster, func() int16 { return c.code.Code }, c.refused)
			b.drain(e)
			dead := map[string]bool{}
			for _, r := range b.read(source + ".dlq") {
				dead[string(r.Value)] = true
				code := headerOf(r, header.KeyErrorCode)
				expect.That(t, code == string(c.want) && want[string(r.Value)], "dead letter %q %q: %s %s", r.Key, r.Value, code, headerOf(r, header.KeyErrorMessage))
			}
			expect.That(t, fmt.Sprint(dead) == fmt.Sprint(want), "dead letters %v, want %v", dead, want)
			expect.Equal(t, len(b.read(output)), 200-len(want), "outputs")
		})
	}
}

// S0-4: an engine that could not commit for a while continues when the broker then refuses one output because of its
// content.
func TestEngine_S0_4_aRefusedOutputAfterTrouble(t *testing.T) {
	b, cluster := newBrokerOf(t)
	b.produce(keyless(events(20), 3, 7)...)
	cfg := b.config(copied)
	e := b.engine(cfg)
	var n atomic.Int64
	b.refuseBatches(cluster, func() int16 {
		if n.Add(1) <= 4 {
			return kerr.TopicAuthorizationFailed.Code
		}
		return kerr.InvalidRecord.Code
	}, func(r *kmsg.Record) bool { return r.Key == nil })
	b.drain(e)
	dead, out := len(b.read(source+".dlq")), len(b.read(output))
	expect.That(t, dead == 2 && out == 18, "%d dead letters and %d outputs", dead, out)
}
