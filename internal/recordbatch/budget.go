package recordbatch

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrDeferred is wrapped by the error of a fetch whose first batch of a partition did not fit the budget of its response.
// Nothing is lost: the client fetches the batch again with its next request.
var ErrDeferred = errors.New("the fetch response holds more than may be decompressed at once; the rest is fetched again")

// Budget is the decompressor of one Kafka client (kgo.WithDecompressor, and kgo.WithHooks: it must see the responses come
// in). A client holds one fetch response per broker at a time, so what it has decompressed and not yet handed over is at
// most that many times PerFetch.
type Budget struct {
	perBatch int
	perFetch int64
	streams  sync.Pool    // of *streams
	left     atomic.Int64 // of the response at hand
	bulky    atomic.Int64 // when a batch was last beyond bulkyBytes, Unix seconds
}

// The client finds these methods by type assertion.
var (
	_ kgo.Decompressor   = (*Budget)(nil)
	_ kgo.HookBrokerRead = (*Budget)(nil)
)

// NewBudget bounds a batch and a fetch response, both in bytes as they are in memory. The first batch of a response is
// always decompressed, so that a partition moves on.
func NewBudget(perBatch, perFetch int) *Budget {
	b := &Budget{perBatch: perBatch, perFetch: int64(perFetch)}
	b.streams.New = func() any { return newStreams(perBatch, perBatch) }
	b.left.Store(b.perFetch)
	return b
}

// Options are those that a client needs to keep the budget.
func (b *Budget) Options() []kgo.Opt {
	return []kgo.Opt{kgo.WithDecompressor(b), kgo.WithHooks(b), kgo.MaxDecompressBatchBytes(b.perBatch)}
}

// OnBrokerRead begins the budget of a new fetch response. The responses of several brokers may overlap; each then begins
// it again, so the bound holds per broker.
func (b *Budget) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && key == int16(kmsg.Fetch) {
		b.left.Store(b.perFetch)
	}
}

// Decompress gives the records of a batch. The error wraps kgo.ErrMaxDecompress when the batch alone is beyond the bound,
// and ErrDeferred when the response is.
func (b *Budget) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	s := b.streams.Get().(*streams)
	defer b.streams.Put(s)
	out, err := s.decompress(context.Background(), src, codec, b.perBatch)
	if err != nil {
		return nil, err
	}
	weight := weigh(out)
	if weight > b.perBatch {
		return nil, kgo.ErrMaxDecompress
	}
	if weight > bulkyBytes {
		b.bulky.Store(time.Now().Unix())
	}
	if left := b.left.Add(int64(-weight)); left < 0 && left+int64(weight) < b.perFetch {
		return nil, ErrDeferred
	}
	return out, nil
}

// bulkyBytes is from when on a batch is bulky, bulkySeconds how long it is remembered.
const (
	bulkyBytes   = 1 << 20
	bulkySeconds = 60
)

// Bulky says whether a batch of more than a mebibyte has come in lately. Its records share its memory, so one that stays
// keeps all of it; the caller then copies what it keeps.
func (b *Budget) Bulky() bool { return time.Now().Unix()-b.bulky.Load() < bulkySeconds }

// recordOverhead is about what the client needs in memory for a record beside its bytes: a kgo.Record.
const recordOverhead = 200

// weigh gives what a decompressed batch takes in memory, records included: a batch of tiny records is larger there than
// on the wire. Records are counted where they could matter.
func weigh(records []byte) int {
	if len(records) < bulkyBytes/recordOverhead {
		return len(records)
	}
	return len(records) + recordOverhead*count(records)
}

// count gives how many records there are. Malformed ones end the count; the client refuses the batch.
func count(records []byte) (n int) {
	for len(records) > 0 {
		length, size := binary.Varint(records)
		if size <= 0 || length < 0 || length > int64(len(records)-size) {
			return n
		}
		records = records[size+int(length):]
		n++
	}
	return n
}

// Deferred says whether an error of a fetch only asks for the next one.
func Deferred(err error) bool { return errors.Is(err, ErrDeferred) }

// TooLarge gives the error of a fetch that met a batch beyond the bound. The client does not fetch its partition again
// until it is told where to go on.
func TooLarge(err error) (*kgo.ErrDecompressTooLarge, bool) {
	return errors.AsType[*kgo.ErrDecompressTooLarge](err)
}
