//go:build bench

package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// pipelineFile does the same work as the compared programs, as a user would configure it: three renames, and the
// defaults of rounding to six decimals with OGC validity before and after it.
const pipelineFile = `pipeline:
  id: features
  retry_policy: { max_attempts: 4, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
transform:
  unmapped: keep
  fields:
    - { from: category, to: class }
    - { from: area_m2, to: area }
    - { from: src, to: source }
`

// events returns features of 570 to 1,270 bytes: a polygon of 8 to 30 positions with 8 decimals, and 11 properties.
func events(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		out[i] = fmt.Appendf(nil, `{"type":"Feature","id":"feat-%09d","geometry":{"type":"Polygon","coordinates":[[%s]]},"properties":{`+
			`"name":"Object %d %x","category":"building","owner":"owner-%d","status":"active","area_m2":%v,"height":%v,"levels":%d,`+
			`"updated_at":"2025-03-01T12:00:00Z","src":"cadastre","version":%d,`+
			`"address":{"street":"Street %d","number":%d,"city":"Tallinn","postcode":"%05d"}}}`,
			i, ringText(r), i, r.Uint32(), r.IntN(5000), math.Round(r.Float64()*1e6)/100, math.Round(r.Float64()*900)/10, r.IntN(20),
			r.IntN(50), r.IntN(900), r.IntN(200), r.IntN(99999))
	}
	return out
}

func ringText(r *rand.Rand) string {
	n := 7 + r.IntN(23)
	x, y := r.Float64()*340-170, r.Float64()*160-80
	var positions []string
	for k := range n {
		angle, radius := 2*math.Pi*float64(k)/float64(n), 0.001*(0.5+r.Float64())
		positions = append(positions, fmt.Sprintf("[%v,%v]", math.Round((x+radius*math.Cos(angle))*1e8)/1e8, math.Round((y+radius*math.Sin(angle))*1e8)/1e8))
	}
	return strings.Join(append(positions, positions[0]), ",")
}

// handling returns the consumer's work for one event without the engine: open, identity with content hash, gates,
// mapping, validation, encoding.
func handling(tb testing.TB) func(value []byte) retrytopics.Result {
	tb.Helper()
	cfg := must.Get(config.Parse("bench.yaml", []byte(pipelineFile), nil))(tb)
	p := must.Get(pipeline.New(cfg, nil))(tb)
	tb.Cleanup(p.Close)
	key := []byte("feat")
	return func(value []byte) retrytopics.Result {
		result, err := p.Handle(tb.Context(), &retrytopics.Record{Key: key, Value: value, Attempt: 1})
		must.That(tb, err == nil, "%s: %v", value, err)
		return result
	}
}

// TestHandle_bytes checks the output of the benchmark, so that a faster mapping with another output is noticed.
func TestHandle_bytes(t *testing.T) {
	testrun.Nightly(t)
	handle, digest := handling(t), sha256.New()
	for _, event := range events(2000) {
		result := handle(event)
		digest.Write([]byte(result.FeatureID + result.BBox + result.ContentHash))
		digest.Write(result.Outputs[0].Value)
	}
	const want = "658e1a1dcfb1788f678dc2a804492a8f840cb86c2240f9e4e86abd67e6673568"
	expect.Equal(t, hex.EncodeToString(digest.Sum(nil)), want, "ids, boxes, hashes and values of 2,000 events")
}

// BenchmarkHandle measures the processor time and the memory of one event.
func BenchmarkHandle(b *testing.B) {
	handle, values := handling(b), events(1000)
	b.ReportAllocs()
	n, begin := 0, processCPU()
	for b.Loop() {
		handle(values[n%len(values)])
		n++
	}
	b.ReportMetric(float64((processCPU()-begin).Nanoseconds())/float64(n), cpuUnit)
	b.ReportMetric(0, "ns/op")
}
