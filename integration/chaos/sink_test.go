//go:build unix

package chaos

import (
	"bytes"
	"testing"

	"github.com/switchback-geo/switchback/integration/chaos/worker"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// S2-4, S3-1: a worker dies between the commit of a sink outside Kafka and Kafka's
// own. The upsert is made again by whoever comes next, and the table is the same.
func TestChaosSink_S2_4_S3_1(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	sc := newScene(t, sceneBound, setup{
		order: retrytopics.OrderStrict, partitions: 6, workers: three(), rate: 300, sink: true, suicide: 1. / 500,
	})
	for sc.fleet.killed() < 6 {
		sc.progress(50)
	}
	history := sc.end()
	sink, err := worker.OpenSink(sc.base.Sink)
	sc.must(err)
	defer sink.Close()
	rows, err := sink.Rows()
	sc.must(err)
	tried, err := sink.Tried()
	sc.must(err)
	values, positions := history.Effects()
	expect.That(t, len(rows) == len(values), "seed %d: the table has %d rows, %d keys were written to Kafka", sc.seed, len(rows), len(values))
	for key, want := range values {
		if row := rows[key]; !bytes.Equal(row.Value, want) || (row.Value == nil) != (want == nil) {
			t.Errorf("seed %d: row %s is %s of version %d, Kafka has %s", sc.seed, key, row.Value, row.Version, want)
		}
	}
	again := 0
	for _, position := range positions {
		switch n := tried[position]; {
		case n == 0:
			t.Errorf("seed %d: %s is delivered in Kafka and never came to the sink\n%s", sc.seed, position, history.Journey(position))
		case n > 1:
			again++
		}
	}
	t.Logf("%d upserts for %d effects, %d of them more than once", len(tried), len(positions), again)
	expect.That(t, again != 0, "seed %d: no upsert was made again: no worker died where it had to", sc.seed)
}
