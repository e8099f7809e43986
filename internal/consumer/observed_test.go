package consumer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Each record counts once for the transient rate: by its first attempt, while that is in flight as well.
func TestObserved_S1_8_aRecordCountsOnceAndWhileItIsInFlight(t *testing.T) {
	c := newConsumer(t, "max_dead_letter_rate: 1, max_transient_rate: 0.4, min_records: 10")
	at := func(offset int64) header.Position { return header.Position{Topic: "parcels", Offset: offset} }
	begin := func(offset int64, err error) {
		handle := c.observed(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
			return retrytopics.Result{}, err
		})
		r := &retrytopics.Record{Position: at(offset), Attempt: 1, Control: &header.Control{}}
		if _, got := handle(t.Context(), r); !errors.Is(got, err) {
			t.Fatal(got)
		}
	}
	failed := func(offset int64, attempt int) bool {
		e := event(policy.OutcomeRetried, attempt, header.Control{})
		e.Record.Position, e.Failure.Class = at(offset), classify.RetryBackoff
		c.ended(e)
		_, held := c.orders.held()
		return held
	}
	for i := range int64(20) {
		begin(i, nil)
	}
	for i := range int64(8) {
		if failed(i, 1) {
			t.Fatalf("paused after %d of 20", i+1)
		}
	}
	for range 50 {
		if failed(100, 2) {
			t.Fatal("paused by retries")
		}
	}
	for i := int64(8); i < 20; i++ { // they were not asked: a breaker is open
		begin(i, &retrytopics.UnavailableError{Dependency: "x"})
	}
	if failed(30, 1) || !failed(31, 1) {
		t.Error("not paused by the tenth record: what waits for a breaker is not in flight")
	}
	state, _ := c.orders.held()
	if want := "10 of 10 records (100 %) failed transiently at their first attempt within 10m"; !strings.HasPrefix(state.Reason, want) {
		t.Errorf("reason: %s", state.Reason)
	}
}
