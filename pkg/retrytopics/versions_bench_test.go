package retrytopics

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// BenchmarkRestoreVersions is a start with a million keys in one partition: the state topic is read, through a client, and the
// versions are kept. A state topic that is not compacted yet has up to twice as many records.
func BenchmarkRestoreVersions(b *testing.B) {
	const keys = 1_000_000
	cluster := fakekafka.Start(b, kfake.SeedTopics(1, "in", "in.state"))
	e := versioning(b, 10_000_000)
	e.cfg.Brokers = cluster.ListenAddrs()
	client, err := kgo.NewClient(append(e.clientOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	size := 0
	for i := range keys {
		n := Latest{Version: Version{time.Date(2026, 1, 1, 0, 0, i, i, time.UTC).UnixNano(), int64(i)}}
		r := encodeVersion("in.state", 0, idempotency.HashKey(fmt.Appendf(nil, "municipality/parcel-%d", i)), &n, e.cfg.scale())
		size += len(r.Key) + len(r.Value)
		client.Produce(b.Context(), r, nil)
	}
	if err := client.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	s := e.unconnected(b.Context(), 4096)
	s.adm = kadm.NewClient(client)
	for b.Loop() {
		before := inUse()
		states := map[int32]*partitionState{0: e.newState(0)}
		began := time.Now()
		err := s.replay(b.Context(), "in.state", time.Time{}, states, func(sh *partitionState, r *kgo.Record) error { return sh.restoreState(r, e.cfg.scale()) })
		if err != nil || states[0].latest.size() != keys {
			b.Fatalf("%d keys, %v", states[0].latest.size(), err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/million")
		b.ReportMetric(float64(inUse()-before)/keys, "heap-B/key")
		b.ReportMetric(float64(size)/keys, "topic-B/key")
		runtime.KeepAlive(states)
	}
}

// inUse is what is in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
