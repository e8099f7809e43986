package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// headerNumber is the producer's header with the number of the event in the plan. The fate of an event is not in its
// value, so that tombstones have one, too, and two events can have the same content.
const headerNumber = "number"

// handler gives each event the result that the plan sets. The same event and attempt always have the same result.
type handler struct {
	in      *Instance
	process *process
	started sync.Map // *retrytopics.Record to the time of the call of its handler
}

// unavailable returns the error of a service that fails transiently.
func unavailable(after time.Duration) error {
	return &classify.HTTPError{Status: 503, Method: "GET", URL: "http://places.test/", RetryAfter: after}
}

func (h *handler) handle(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	began := h.in.now() // by the clock with which the engine found the record due, which may be set while the process is frozen
	if err := h.alive(ctx); err != nil {
		return retrytopics.Result{}, err
	}
	w := h.in.w
	h.started.LoadOrStore(r, began)
	e, err := w.eventOf(r.Headers)
	if err != nil {
		return retrytopics.Result{}, err
	}
	w.called(h.in, r, e, began)
	result := retrytopics.Result{Identity: retrytopics.Identity{FeatureID: e.Key, ContentHash: contentHash(e)}}
	if w.Plan.Engine.Versioned && !e.Delete {
		result.Version = &e.Version
	}
	if err := w.outage(h.in); err != nil {
		return result, err
	}
	if e.Takes > 0 && !wait(ctx, e.Takes) {
		return result, ctx.Err()
	}
	if err := h.alive(ctx); err != nil {
		return result, err
	}
	return h.attempt(r, e, result)
}

// alive makes a frozen process wait, and stops a killed one.
func (h *handler) alive(ctx context.Context) error {
	h.process.host.awake()
	if h.process.killed() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (h *handler) attempt(r *retrytopics.Record, e plan.Event, result retrytopics.Result) (retrytopics.Result, error) {
	life := r.Control.ReplayCount
	switch {
	case e.Fate == plan.FateTransient && r.Attempt <= e.Fails:
		return result, unavailable(e.Asks)
	case e.Fate == plan.FatePermanent && life < e.Deaths:
		return result, &classify.HTTPError{Status: 404, Method: "GET", URL: "http://places.test/"}
	case e.Fate == plan.FateExhausted && life < e.Deaths:
		return result, unavailable(e.Asks)
	case e.Fate == plan.FatePanic && life < e.Deaths:
		panic("as planned")
	case e.Fate == plan.FateFiltered:
		result.Close, result.Note = policy.OutcomeFiltered, "as planned"
		return result, nil
	}
	if closed := r.Judge(result.ContentHash, result.Version); closed != "" {
		result.Close = closed
		if closed == policy.OutcomeDuplicate && h.stale(r, e, result) {
			h.store(r, e, result)
		}
		return result, nil
	}
	h.store(r, e, result)
	if e.Fate == plan.FateSinkFails && r.Attempt <= e.Fails {
		return result, unavailable(0) // the answer was lost, not the write
	}
	result.Outputs = outputs(r, e)
	return result, nil
}

func rowOf(r *retrytopics.Record, e plan.Event) judge.Row {
	return judge.Row{Source: source(r), Content: e.Content}
}

// stale reports whether the table has something else than a duplicate.
func (h *handler) stale(r *retrytopics.Record, e plan.Event, result retrytopics.Result) bool {
	if !h.in.w.Plan.Engine.Sink || r.Key == nil {
		return false
	}
	v, ok := r.Version(result.Version, e.Delete)
	return ok && (e.Delete || h.in.w.Table.Repeated(e.Key, v, rowOf(r, e)))
}

// store writes the event into the table, under the version of the engine.
func (h *handler) store(r *retrytopics.Record, e plan.Event, result retrytopics.Result) {
	if !h.in.w.Plan.Engine.Sink || r.Key == nil {
		return
	}
	if v, ok := r.Version(result.Version, e.Delete); ok {
		h.in.w.Table.Write(e.Key, v, e.Delete, rowOf(r, e))
	}
}

func outputs(r *retrytopics.Record, e plan.Event) []*kgo.Record {
	all := make([]*kgo.Record, 0, e.Parts)
	for part := range e.Parts {
		out := &kgo.Record{Topic: Output, Key: r.Key, Value: r.Value, Headers: r.Headers}
		if e.Parts > 1 {
			out.Headers = append(slices.Clip(out.Headers),
				kgo.RecordHeader{Key: header.KeyPart, Value: fmt.Appendf(nil, "%d/%d", part, e.Parts)})
		}
		all = append(all, out)
	}
	return all
}

// journal returns the record of a step, which is written in the transaction of the step.
func (h *handler) journal(e *retrytopics.Event) ([]*kgo.Record, error) {
	r := e.Record
	step := journal.Step{
		Decision: string(e.Decision.Outcome), Source: source(r), Position: position(r),
		Attempt: r.Attempt, Reason: string(e.Decision.Reason), Due: r.Control.Due, Next: e.Decision.Due,
		Destination: e.Destination, Sequence: r.Control.Sequence, Worker: h.in.Name,
	}
	if r.Key != nil {
		key := string(r.Key)
		step.Key = &key
	}
	if at, ok := h.started.LoadAndDelete(r); ok {
		step.Started = at.(time.Time).Round(0)
	}
	record, err := step.Record(Journal, r.Position.Partition)
	return []*kgo.Record{record}, err
}

// eventOf returns the event of a record.
func (w *World) eventOf(headers []kgo.RecordHeader) (plan.Event, error) {
	for _, header := range headers {
		if header.Key != headerNumber {
			continue
		}
		n, err := strconv.Atoi(string(header.Value))
		if err != nil || n < 0 || n >= len(w.events) {
			return plan.Event{}, fmt.Errorf("no event has the number %q", header.Value)
		}
		return w.events[n], nil
	}
	return plan.Event{}, fmt.Errorf("a record without the header %s", headerNumber)
}

func (w *World) called(in *Instance, r *retrytopics.Record, e plan.Event, at time.Time) {
	call := judge.Call{
		Source: source(r), Position: position(r), Event: e.Number, Attempt: r.Attempt, Instance: in.Name,
		At: at, Due: r.Control.Due,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
}

// contentHash is the same for two events of a key with the same content.
func contentHash(e plan.Event) string {
	content := fmt.Append(nil, e.Content)
	if e.Delete {
		content = []byte("deleted")
	}
	return idempotency.Of([]byte(e.Key), content).String()
}

// now returns the time by the instance's clock.
func (in *Instance) now() time.Time { return time.Now().Add(in.skew()) }
