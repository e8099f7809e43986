package integration

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/twmb/franz-go/pkg/kgo"
)

// S3-8, S3-3: consumers are killed while they refuse records that may not be used. Each refusal stands in the ledger once, and
// its chain is whole: no kill leaves a gap, a fork or an entry of a transaction that was never committed.
func TestGovernanceLedgerKilled_S3_8_S3_3(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
	p := newPipe(t, 3*time.Minute, killed, func(s *settings) {
		s.More = "governance: { care: { header: care, deny: [ceremonial] } }\n"
	}).ensure()
	const n, every, kills = 3000, 10, 3
	records := make([]*kgo.Record, n)
	for i, id := range ids("g", n) {
		care := "open"
		if i%every == 0 {
			care = "open, ceremonial"
		}
		records[i] = &kgo.Record{
			Topic: p.topics.Source, Key: []byte(id), Value: []byte(feature(id)), Headers: []kgo.RecordHeader{{Key: "care", Value: []byte(care)}},
		}
	}
	letters := p.log.Tail(t, p.topics.DLQ)
	p.sendRecords(records...)
	for kill := range kills {
		// The service answers for a part only, so that the kill meets work in flight on the fastest machine too.
		p.places.Budget(n / (kills + 2))
		consumer := p.start("it")
		letters.UntilCount(p.ctx, t, fmt.Sprintf("refusals before kill %d", kill+1), len(letters.Seen())+n/every/(4*kills))
		must.That(t, consumer.Kill(), "kill %d hit a consumer that had already ended", kill+1)
	}
	p.places.Budget(-1)
	p.drain()
	wantTotals(t, p.verify(), n, conservation.Place{Output: n - n/every, Letters: n / every})
	r := p.run("consumer", "verify", "audit", "-c", p.file, "-o", "json")
	var found struct{ Chains []audit.Report }
	if err := json.Unmarshal([]byte(r.Stdout), &found); err != nil || r.Code != 0 {
		t.Fatalf("%v: %s", err, r)
	}
	entries := int64(0)
	for _, c := range found.Chains {
		entries += c.Entries
	}
	expect.That(t, entries == n/every, "the ledger has %d entries, want %d: %s", entries, n/every, r)
}
