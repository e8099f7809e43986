package integration

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// withRegistry is a pipeline that reads Avro with the schemas of a registry.
func withRegistry(t *testing.T, registry *srfake.Registry) *pipe {
	t.Helper()
	return newPipe(t, time.Minute, func(s *settings) {
		s.Source = "format: avro"
		s.More = fmt.Sprintf("schema_registry: { url: %q, timeout: 2s, outage: { pause: 500ms } }\n", registry.URL())
	}).ensure()
}

func (p *pipe) sendAvro(prefix string, n, schema int) {
	p.t.Helper()
	c := newCodec(p.t)
	var records []*kgo.Record
	for _, id := range ids(prefix, n) {
		records = append(records, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: c.avro(p.t, id, schema)})
	}
	p.sendRecords(records...)
}

// S1-2, C-1: a replica of the registry that does not have a schema yet costs a retry, and no record.
func TestRegistryLag_S1_2_C1(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const n = 30
	registry := registryServer(t, 0)
	p := withRegistry(t, registry)
	var asked atomic.Int64
	registry.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, fmt.Sprint("/schemas/ids/", knownSchema)) || asked.Add(1) > 1 {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
		return true
	})
	p.sendAvro("lag", n, knownSchema)
	s := p.drain().balances(t)
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
	if s.number(t, "retried") == 0 {
		t.Error("no record was retried: was the registry asked while it did not know the schema?")
	}
}

// S4-5: a registry that answers with a gzip bomb is out of order. Its records wait and spend no attempts, others go on, and
// all are delivered once it answers.
func TestRegistryBomb_S4_5(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const n = 20
	registry := registryServer(t, 0)
	registry.SeedSchema("producer-value", 2, lostSchema, eventSchema(t))
	packed := gzipped(t, 64<<20)
	var broken atomic.Bool
	broken.Store(true)
	registry.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !broken.Load() || !strings.HasSuffix(r.URL.Path, fmt.Sprint("/schemas/ids/", lostSchema)) {
			return false
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
		return true
	})
	p := withRegistry(t, registry)
	p.sendAvro("bomb", n, lostSchema)
	p.sendAvro("good", n, knownSchema)
	output := p.log.Tail(t, p.topics.Output)
	consumer := p.start("one")
	output.UntilCount(p.ctx, t, "records of the other schema", n)
	began := time.Now()
	eventually.Until(p.ctx, t, "some probes", func() (bool, string) { return time.Since(began) > 3*time.Second, time.Since(began).String() })
	if letters := p.read(p.topics.DLQ); len(letters) > 0 {
		t.Errorf("%d dead letters while the registry was out of order", len(letters))
	}
	broken.Store(false)
	output.UntilCount(p.ctx, t, "all", 2*n)
	p.stop(consumer)
	wantTotals(t, p.verify(), 2*n, conservation.Place{Output: 2 * n})
	for _, r := range p.read(p.topics.Output) {
		if spent := failedAttempts(t, r); spent > 0 {
			t.Errorf("%s spent %d attempts", r.Key, spent)
		}
	}
}

func gzipped(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
