package retrytopics_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Several outputs of one record are committed together, each under the name that the handler gives it; what it does not
// name is the record's.
func TestEngine_severalOutputsOfOneRecordAreOneDecision(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.produce(events(20)...)
	const parts = 3
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result := retrytopics.Result{Identity: retrytopics.Identity{FeatureID: "all", ContentHash: "sha256:all"}}
		for i := range parts {
			out := &kgo.Record{Topic: output, Key: fmt.Appendf(nil, "%s-%d", r.Key, i), Headers: slices.Clone(r.Headers)}
			if i > 0 { // the first leaves its names to the engine
				out.Headers = append(out.Headers, kgo.RecordHeader{Key: header.KeyFeatureID, Value: fmt.Appendf(nil, "id-%d", i)},
					kgo.RecordHeader{Key: header.KeyContentHash, Value: fmt.Appendf(nil, "sha256:%d", i)},
					kgo.RecordHeader{Key: header.KeyPart, Value: fmt.Appendf(nil, "%d/%d", i, parts)})
			}
			result.Outputs = append(result.Outputs, out)
		}
		if r.Attempt == 1 && string(r.Key) == "k7" {
			return result, unavailable
		}
		return result, nil
	})
	b.drain(b.engine(cfg))
	got := map[string]int{}
	for _, r := range b.read(output) {
		got[string(r.Key)]++
		i := int(r.Key[len(r.Key)-1] - '0')
		id, hash, part := "all", "sha256:all", ""
		if i > 0 {
			id, hash, part = fmt.Sprintf("id-%d", i), fmt.Sprintf("sha256:%d", i), fmt.Sprintf("%d/%d", i, parts)
		}
		if headerOf(r, header.KeyFeatureID) != id || headerOf(r, header.KeyContentHash) != hash || headerOf(r, header.KeyPart) != part ||
			headerOf(r, header.KeySource) == "" || headerOf(r, "ce_id") == "" {
			t.Errorf("output %s has the headers %v", r.Key, r.Headers)
		}
		names := map[string]bool{}
		for _, h := range r.Headers {
			expect.That(t, !names[h.Key], "output %s has %s twice", r.Key, h.Key)
			names[h.Key] = true
		}
	}
	expect.That(t, len(got) == 20*parts, "%d outputs, want %d", len(got), 20*parts)
	for key, n := range got {
		expect.That(t, n == 1, "%s is there %d times", key, n)
	}
}
