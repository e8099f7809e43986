package integration

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// C-4: a replayer of a DLQ that belongs to no pipeline is killed again and again. Each dead letter goes back once, to partition and key that
// it came from, for a reader with read_committed.
func TestAnyDLQ_C4_killedReplayers(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
	const letters, kills, partitions = 23_000, 20, 4
	random := rand.New(rand.NewPCG(testrun.Seed(t), 0))
	p := newPipe(t, 8*time.Minute)
	origin, dlq := p.set.ID+".payments", p.set.ID+".payments.DLT"
	for _, topic := range []string{origin, dlq} {
		if err := p.log.Create(p.ctx, topic, partitions, nil); err != nil {
			t.Fatal(err)
		}
	}
	records := make([]*kgo.Record, letters)
	for i := range records {
		records[i] = &kgo.Record{
			Topic: dlq, Partition: int32(i % partitions), Key: fmt.Append(nil, "k", i), Value: fmt.Appendf(nil, `{"amount":%d}`, i),
			Headers: []kgo.RecordHeader{
				{Key: "kafka_dlt-original-topic", Value: []byte(origin)},
				{Key: "kafka_dlt-original-partition", Value: binary.BigEndian.AppendUint32(nil, uint32(i%partitions))},
				{Key: "kafka_dlt-original-offset", Value: binary.BigEndian.AppendUint64(nil, uint64(i))},
			},
		}
	}
	p.sendRecords(records...)
	at := []string{"--brokers", strings.Join(p.set.Brokers, ","), "--topic", dlq}
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	if r := p.run("replayer", append([]string{"plan", "-f", file}, at...)...); r.Code != 0 || !strings.Contains(r.Stderr, fmt.Sprintf("%s: %d", origin, letters)) {
		t.Fatalf("plan: %s", r)
	}
	replay := append([]string{"replay", "--plan", file, "--execute", "--reason", "the enum is read", "--create-topics", "--take-over"}, at...)
	uncommitted := p.log.TailUncommitted(t, origin)
	hit := 0
	for range kills {
		before, more := len(uncommitted.Seen()), 1+random.IntN(letters/kills)
		replayer := proc.Start(t, p.spec("replayer", replay...))
		eventually.Until(p.ctx, t, fmt.Sprintf("%d records that were put back", more), func() (bool, string) {
			select {
			case <-replayer.Done(): // nothing was left
				return true, ""
			default:
			}
			n := len(uncommitted.Seen()) - before
			return n >= more, fmt.Sprint(n)
		})
		if replayer.Kill() {
			hit++
		}
	}
	t.Logf("%d of %d kills met a running replayer, with %d records put back, committed or not", hit, kills, len(uncommitted.Seen()))
	if hit == 0 {
		t.Errorf("none of %d kills met a running replayer", kills)
	}
	if r := p.run("replayer", replay...); r.Code != 0 {
		t.Fatalf("the last replay: %s", r)
	}
	seen := map[string]int{}
	for _, r := range p.read(origin) {
		seen[string(r.Key)]++
		var i int
		if _, err := fmt.Sscanf(string(r.Key), "k%d", &i); err != nil || r.Partition != int32(i%partitions) || string(r.Value) != fmt.Sprintf(`{"amount":%d}`, i) {
			t.Fatalf("%s in partition %d: %s", r.Key, r.Partition, r.Value)
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s was put back %d times", key, n)
		}
	}
	if len(seen) != letters {
		t.Errorf("%d dead letters were put back, want %d", len(seen), letters)
	}
}
