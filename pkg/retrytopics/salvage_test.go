package retrytopics

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S4-15: a transaction that does not end leaves its records with the client, which reads their contexts until it is closed. What is
// kept for the next transaction are copies.
func TestSession_S4_15_salvagedOutputsAreCopies(t *testing.T) {
	t.Parallel()
	own := time.Unix(7, 0)
	for _, dated := range []bool{false, true} {
		sent := &kgo.Record{Topic: "out", Partition: 3, Key: []byte("k"), Value: []byte("v"), Context: t.Context(), Timestamp: own,
			Headers: []kgo.RecordHeader{{Key: "h"}}}
		finished := &task{outputs: []*kgo.Record{sent, {Topic: "audit"}}, result: Result{Outputs: []*kgo.Record{sent}}, dated: dated}
		s := &session{}
		s.salvage([]*task{finished})
		expect.That(t, sent.Context != nil && sent.Timestamp.Equal(own), "the client's record has changed: %+v", sent)
		kept := finished.outputs[0]
		expect.That(t, kept != sent && kept.Context == nil && kept.Timestamp.IsZero() != dated, "dated %t: kept %+v", dated, kept)
		expect.That(t, finished.result.Outputs[0] == kept, "the result still has the client's record")
		expect.That(t, kept.Topic == "out" && kept.Partition == 3 && string(kept.Key)+string(kept.Value) == "kv" && len(kept.Headers) == 1, "kept %+v", kept)
		expect.That(t, s.unfinished(), "nothing is left for the next transaction")
	}
}
