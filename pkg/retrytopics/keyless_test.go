package retrytopics_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// refuseBatches lets the output topic refuse each batch with a record that is refused, as a broker does: the whole of it.
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
				rp.Partition = p.Partition // the transaction is aborted: what the others get does not matter
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
		length, n := int(data[0]>>1), 1 // a zigzag varint
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

// keyless makes the keys of some events null.
func keyless(records []*kgo.Record, which ...int) []*kgo.Record {
	for _, i := range which {
		records[i].Key = nil
	}
	return records
}

// S0-4: an output that a compacted topic refuses is one dead letter that says why, and takes no other record along: whether the cluster tells
// that the topic is compacted, is not asked, or the broker refuses a record for another reason.
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
				if code := headerOf(r, header.KeyErrorCode); code != string(c.want) || !want[string(r.Value)] {
					t.Errorf("dead letter %q %q: %s %s", r.Key, r.Value, code, headerOf(r, header.KeyErrorMessage))
				}
			}
			expect.That(t, fmt.Sprint(dead) == fmt.Sprint(want), "dead letters %v, want %v", dead, want)
			expect.Equal(t, len(b.read(output)), 200-len(want), "outputs")
		})
	}
}

// S0-4: an engine that could not commit for a while goes on when the broker then refuses an output for what it is.
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
