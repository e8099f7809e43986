package transaction

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
)

// S4-15: a transaction that does not end leaves its records with the client, which reads their contexts until it is
// closed. The next transaction gets copies.
func TestSalvage_S4_15_copiesTheOutputs(t *testing.T) {
	t.Parallel()
	own := time.Unix(7, 0)
	for _, dated := range []bool{false, true} {
		sent := &kgo.Record{Topic: "out", Partition: 3, Key: []byte("k"), Value: []byte("v"), Context: t.Context(), Timestamp: own,
			Headers: []kgo.RecordHeader{{Key: "h"}}}
		finished := &partition.Task{Task: attempt.Task{Done: attempt.Done{Outputs: []*kgo.Record{sent, {Topic: "audit"}}, Result: retrytopics.Result{Outputs: []*kgo.Record{sent}}, Dated: dated}}}
		Salvage([]*partition.Task{finished})
		expect.That(t, sent.Context != nil && sent.Timestamp.Equal(own), "the client's record has changed: %+v", sent)
		kept := finished.Outputs[0]
		expect.That(t, kept != sent && kept.Context == nil && kept.Timestamp.IsZero() != dated, "dated %t: kept %+v", dated, kept)
		expect.That(t, finished.Result.Outputs[0] == kept, "the result still has the client's record")
		expect.That(t, kept.Topic == "out" && kept.Partition == 3 && string(kept.Key)+string(kept.Value) == "kv" && len(kept.Headers) == 1, "kept %+v", kept)
	}
}
