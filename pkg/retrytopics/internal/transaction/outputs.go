package transaction

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Salvage copies the outputs of tasks whose transaction did not end, and those in results that a later session may take
// over: the client may still hold the records themselves until it is closed.
func Salvage(tasks []*partition.Task) {
	for _, t := range tasks {
		copies := make(map[*kgo.Record]*kgo.Record, len(t.Outputs))
		for i, out := range t.Outputs {
			copied := &kgo.Record{Topic: out.Topic, Partition: out.Partition, Key: out.Key, Value: out.Value, Headers: out.Headers}
			if t.Dated {
				copied.Timestamp = out.Timestamp
			}
			t.Outputs[i], copies[out] = copied, copied
		}
		t.Result.Outputs = slices.Clone(t.Result.Outputs)
		for i, out := range t.Result.Outputs {
			if copied, sent := copies[out]; sent {
				t.Result.Outputs[i] = copied
			}
		}
	}
}

// Unsend removes the client's additions from the outputs of tasks. A later transaction sends them again, and the
// context of the aborted one has ended.
func Unsend(tasks []*partition.Task) {
	for _, t := range tasks {
		for _, out := range t.Outputs {
			out.Context = nil //nolint:fatcontext // that of the aborted transaction has ended
			if !t.Dated {
				out.Timestamp = time.Time{}
			}
		}
	}
}

// kept reports whether the task's transaction produces the record itself and no output.
func kept(t *partition.Task) bool {
	o := t.Event.Decision.Outcome
	return o == policy.OutcomeRetried || o == policy.OutcomeParked || o == policy.OutcomeDeadLettered
}

// MadeByHandler reports whether a handler made one of the task's produced records.
func MadeByHandler(t *partition.Task, r *kgo.Record, dlq string) bool {
	return slices.Contains(t.Result.Outputs, r) || !kept(t) && r.Topic != dlq
}
