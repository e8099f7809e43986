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
var ErrDeferred = errors.New("the fetch response contains more than may be decompressed at once; the remaining records are fetched again")

// Budget is the decompressor of one Kafka client (kgo.WithDecompressor, and kgo.WithHooks, because it must see the
// fetch responses arrive). A client keeps one fetch response per broker at a time. Therefore the decompressed records
// that it has not returned yet take at most PerFetch bytes per broker.
type Budget struct {
	perBatch int
	perFetch int64
	streams  sync.Pool    // of *streams
	left     atomic.Int64 // of the current response
	bulky    atomic.Int64 // when a batch last had more than bulkyBytes, Unix seconds
}

// The client finds these methods by type assertion.
var (
	_ kgo.Decompressor   = (*Budget)(nil)
	_ kgo.HookBrokerRead = (*Budget)(nil)
)

// NewBudget limits a batch and a fetch response, both in bytes of memory. The first batch of a response is always
// decompressed, so that a partition makes progress.
func NewBudget(perBatch, perFetch int) *Budget {
	b := &Budget{perBatch: perBatch, perFetch: int64(perFetch)}
	b.streams.New = func() any { return newStreams(perBatch, perBatch) }
	b.left.Store(b.perFetch)
	return b
}

// Options returns the options that a client needs for the budget.
func (b *Budget) Options() []kgo.Opt {
	return []kgo.Opt{kgo.WithDecompressor(b), kgo.WithHooks(b), kgo.MaxDecompressBatchBytes(b.perBatch)}
}

// OnBrokerRead starts the budget of a new fetch response. The responses of several brokers may overlap. Each starts
// the budget again, so the limit holds per broker.
func (b *Budget) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && key == int16(kmsg.Fetch) {
		b.left.Store(b.perFetch)
	}
}

// Decompress returns the records of a batch. The error wraps kgo.ErrMaxDecompress if the batch alone exceeds the
// limit, and ErrDeferred if the response does.
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

// bulkyBytes is the size above which a batch is bulky; bulkySeconds is how long it is remembered.
const (
	bulkyBytes   = 1 << 20
	bulkySeconds = 60
)

// Bulky reports whether a batch of more than a mebibyte arrived recently. Its records share its memory, so keeping
// one record keeps all of it. The caller must then copy the records that it keeps.
func (b *Budget) Bulky() bool { return time.Now().Unix()-b.bulky.Load() < bulkySeconds }

// recordOverhead is about the memory that the client needs for a record besides its bytes: a kgo.Record.
const recordOverhead = 200

// weigh returns the memory of a decompressed batch with its records: a batch of tiny records is larger in memory than
// on the wire. It counts the records only where they could make a difference.
func weigh(records []byte) int {
	if len(records) < bulkyBytes/recordOverhead {
		return len(records)
	}
	return len(records) + recordOverhead*count(records)
}

// count returns the number of records. It stops at a malformed record; the client refuses such a batch.
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

// Deferred reports whether an error of a fetch only means that the client must fetch again.
func Deferred(err error) bool { return errors.Is(err, ErrDeferred) }

// TooLarge returns the error of a fetch that met a batch beyond the limit. The client does not fetch this partition
// again until it is told where to continue.
func TooLarge(err error) (*kgo.ErrDecompressTooLarge, bool) {
	return errors.AsType[*kgo.ErrDecompressTooLarge](err)
}
