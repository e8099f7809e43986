//go:build bench

package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
)

// BenchmarkPaint measures how long Chromium takes from the request for a page of the console to its first paint, the
// share of the response in it, and the processor time of this process, which runs the console and the broker. It reports
// medians.
func BenchmarkPaint(b *testing.B) {
	for _, deadLetters := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(deadLetters), func(b *testing.B) {
			o := options{deadLetters: deadLetters, states: 0.1, span: 30 * 24 * time.Hour}
			var ahead atomic.Int64
			site := serve(b, o, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
			expire := func() { ahead.Add(int64(2 * time.Minute)) } // the console caches lists for a minute
			for _, v := range views(o) {
				b.Run(v[0], func(b *testing.B) { load(b, site+v[1], expire) })
			}
		})
	}
}

// views are pages, each with a name.
func views(o options) [][2]string {
	some := o.deadLetters / 2
	return [][2]string{
		{"first page", ""}, {"map", "map"}, {"dead letter", "dead-letters/" + id(some)}, {"largest group", "?group=" + groupOf(0)}, {"replays", "replays"}, {"audit", "audit"},
		{"code", "?code=coercion_failed"}, {"status", "?status=escalated"}, {"since a day", "?since=1d"}, {"bbox", "?bbox=10.05,47.05,10.15,47.15"},
		{"feature", fmt.Sprintf("?feature=P-%d", some)}, {"header of all", "?header=traceparent"}, {"text of one", fmt.Sprintf("?text=%%22AT-%d%%22", some)}, {"text of all", "?text=N/A"},
		{"map by code", "map?code=coercion_failed"}, {"map by text of all", "map?text=N/A"},
	}
}

// serve serves a console with this many dead letters.
func serve(b *testing.B, o options, now func() time.Time) (site string) {
	b.Helper()
	const dlqTopic, status = "features.dlq", "features.dlq-status"
	broker := fakekafka.Start(b, kfake.SeedTopics(partitions, dlqTopic, status))
	cfg := must.Get(config.Parse("pipeline.yaml", fmt.Appendf(nil, `
pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
`, strings.Join(broker.ListenAddrs(), ", ")), func(string) string { return "" }))(b)
	cl := fakekafka.Client(b, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(50_000))
	must.Get(topics.Ensure(b.Context(), kadm.NewClient(cl), topics.Plan(cfg)))(b)
	must.Get(fill(b.Context(), cl, dlqindex.Source{DLQ: dlqTopic, Status: status}, o, time.Now().UTC().Add(-o.span)))(b)
	deadLetters := must.Get(dlq.Open(b.Context(), cfg, dlq.Options{Background: true, Options: replay.Options{Index: dlqindex.Options{Place: filepath.Join(b.TempDir(), "letters.sqlite")}, Now: now}}))(b)
	b.Cleanup(deadLetters.Close)
	gate := access.Loopback("bench")
	c := must.Get(console.New(b.Context(), console.Options{DeadLetters: deadLetters, Replays: deadLetters.Replays(), Changes: &console.Changes{}, Access: gate, Now: now, Explain: console.Explain}))(b)
	l := must.Get(console.Listen(b.Context(), "127.0.0.1:0", gate))(b)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(ctx, l) }()
	b.Cleanup(func() {
		stop()
		must.Do(b, <-ended)
		c.Close()
	})
	site = "http://" + l.Addr().String() + "/"
	eventually.Until(b.Context(), b, "the index is filled", func() (bool, string) {
		answer, err := (&http.Client{}).Do(must.Get(http.NewRequestWithContext(b.Context(), http.MethodGet, site+"api/dead-letters?limit=1", http.NoBody))(b))
		if err != nil {
			return false, err.Error()
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, answer.Status
	})
	return site
}

// load loads a page repeatedly. It calls expire before each load, so that no load uses a list from the console's cache.
func load(b *testing.B, address string, expire func()) {
	b.Helper()
	p := chromium.Start(b).Open(address, 1280, 800) // the first load includes one-time work of the browser
	var paints, answers []float64
	before, _ := spent()
	for b.Loop() {
		expire()
		p.Go(address)
		p.Await(`performance.getEntriesByName("first-contentful-paint").length`)
		var at [2]float64
		must.Do(b, p.Eval(`(() => {
			const load = performance.getEntriesByType("navigation")[0]
			return [performance.getEntriesByName("first-contentful-paint")[0].startTime, load.responseEnd - load.requestStart]
		})()`, &at))
		paints, answers = append(paints, at[0]), append(answers, at[1])
	}
	after, _ := spent()
	slices.Sort(paints)
	slices.Sort(answers)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(paints[len(paints)/2], "paint-ms")
	b.ReportMetric(answers[len(answers)/2], "answer-ms")
	b.ReportMetric(float64((after-before).Microseconds())/1000/float64(b.N), "processor-ms")
}
