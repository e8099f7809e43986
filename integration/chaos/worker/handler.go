//go:build unix

package worker

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

type handler struct {
	output, journal, instance, pipeline string
	started                             sync.Map // from header.Position to the attempt
}

// attempt is the time of the first call of the handler for a record. The engine may commit the result in a later
// session, without another call. After the attempt was journaled, the next call starts a new one.
type attempt struct {
	at    time.Time
	noted bool
}

func (h *handler) begin(r *retrytopics.Record) {
	if before, ok := h.started.Load(r.Position); !ok || before.(attempt).noted {
		h.started.Store(r.Position, attempt{at: time.Now()})
	}
}

// handle treats a record as its bytes determine. The same bytes and attempt always have the same outcome.
func (h *handler) handle(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	h.begin(r)
	result := retrytopics.Result{Identity: retrytopics.Identity{
		FeatureID: string(r.Key), ContentHash: idempotency.Of(r.Key, r.Value).String(),
	}}
	event, err := feed.Parse(r.Value)
	if err != nil {
		return result, err
	}
	select {
	case <-time.After(event.Takes):
	case <-ctx.Done():
		return result, ctx.Err()
	}
	switch {
	case event.Permanent:
		return result, &classify.HTTPError{Status: 404, Method: "GET", URL: "http://places.test/"}
	case r.Attempt <= event.Fails:
		return result, &classify.HTTPError{Status: 503, Method: "GET", URL: "http://places.test/"}
	}
	if closed := r.Judge(result.ContentHash, nil); closed != "" {
		result.Close = closed
		return result, nil
	}
	result.Outputs = []*kgo.Record{{Topic: h.output, Key: r.Key, Value: r.Value, Headers: r.Headers}}
	return result, nil
}

// note journals a step in the step's own transaction.
func (h *handler) note(e *retrytopics.Event) ([]*kgo.Record, error) {
	r := e.Record
	step := journal.Step{
		Decision: string(e.Decision.Outcome), Source: r.Source.String(), Position: r.Position.String(),
		Attempt: r.Attempt, Reason: string(e.Decision.Reason), Due: r.Control.Due, Next: e.Decision.Due,
		Destination: e.Destination, Sequence: r.Control.Sequence, Worker: h.instance,
		Time: e.At.UTC(), Pipeline: h.pipeline,
	}
	if r.Key != nil {
		key := string(r.Key)
		step.Key = &key
	}
	if stored, ok := h.started.Load(r.Position); ok && e.Decision.Outcome != policy.OutcomeParked {
		at := stored.(attempt).at
		h.started.Store(r.Position, attempt{at, true})
		step.Started = at.Round(0)
	}
	record, err := step.Record(h.journal, r.Position.Partition)
	return []*kgo.Record{record}, err
}
