package recordbatch_test

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// What a record takes is what it takes on the wire, but for a small reserve, however many headers it has: an estimate above that refuses
// outputs that their topic takes.
func TestBytes_S0_4_ofManyHeaders(t *testing.T) {
	for _, headers := range []int{0, 1, 200, 10_000, 100_000} {
		for _, length := range []int{0, 1, 63, 64, 9000} {
			if headers*length > 2<<20 {
				continue
			}
			r := &kgo.Record{Key: []byte("key"), Value: []byte(`{"type":"Feature"}`)}
			for i := range headers {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: "h" + strconv.Itoa(i), Value: bytes.Repeat([]byte{byte(i)}, length)})
			}
			wire := len(bombs.Bytes(bombs.Batch(kgo.CodecNone, time.Unix(0, 0), bombs.Record{Key: r.Key, Value: r.Value, Headers: r.Headers})))
			got := recordbatch.Bytes(r)
			expect.That(t, got >= wire && got <= wire+64, "%d headers of %d bytes: %d, on the wire %d", headers, length, got, wire)
			expect.That(t, recordbatch.NewCompressor(got).Fits(r, got), "%d headers of %d bytes do not fit their size", headers, length)
		}
	}
}
