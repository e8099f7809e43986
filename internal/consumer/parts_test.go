package consumer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// inParts is a record of which 5 features are delivered, 2 are dead letters of their own and one waits.
func inParts(code classify.Code) *retrytopics.Event {
	e := event(policy.OutcomeRetried, 1, header.Control{})
	for _, i := range []int{3, 6} {
		dead := event(policy.OutcomeDeadLettered, 1, header.Control{})
		dead.Part, dead.DeadLetterID, dead.Identity.FeatureID = header.Part{Index: i, Of: 8}, fmt.Sprint("2-7-aabbccdd-", i), fmt.Sprint("f", i)
		dead.Record, dead.Failure.Code = e.Record, code
		e.Dead = append(e.Dead, dead)
	}
	e.Parts = retrytopics.PartCounts{Delivered: 5, DeadLettered: 2, Waiting: 1}
	return e
}

// S0-11: each feature that is a dead letter of its own has an audit event that says which one it is, before that of its record. One that a
// rule of governance forbids is escalated by itself. What becomes of a part that was put back is told as that of the part.
func TestJournal_S0_11_parts(t *testing.T) {
	type told struct{ Decision, Part, Letter, Reason string }
	audited := func(e *retrytopics.Event) (all []told, escalated []string) {
		records := must.Get((&journal{cfg: parse(t, ""), runID: "r"}).records(e))(t)
		for _, r := range records {
			if r.Topic == "parcels.dlq-status" {
				s, err := deadletters.ParseState(r.Value)
				if err != nil {
					t.Error(err)
				} else if s.Status == deadletters.Escalated {
					escalated = append(escalated, s.ID)
				}
				continue
			}
			var one told
			must.Do(t, json.Unmarshal(r.Value, &one))
			all = append(all, one)
		}
		return all, escalated
	}
	got, _ := audited(inParts(classify.CodeNotJSON))
	want := []told{
		{"dead_lettered", "3/8", "2-7-aabbccdd-3", "handled"}, {"dead_lettered", "6/8", "2-7-aabbccdd-6", "handled"}, {"retried", "", "", "handled"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, escalated := audited(inParts(classify.CodeGovernanceDenied)); !slices.Equal(escalated, []string{"2-7-aabbccdd-3", "2-7-aabbccdd-6"}) {
		t.Errorf("escalated %v", escalated)
	}
	replayed := event(policy.OutcomeSuperseded, 1, header.Control{Part: header.Part{Index: 3, Of: 8}, DeadLetterID: "2-7-aabbccdd-3", ReplayID: "x", ContentHash: "sha256:00"})
	if got, _ := audited(replayed); got[0].Part != "3/8" {
		t.Errorf("a part that was put back: %v", got)
	}
	partly := event(policy.OutcomeDelivered, 1, header.Control{})
	partly.Dead = inParts(classify.CodeNotJSON).Dead
	if got, _ := audited(partly); len(got) != 3 || got[2].Decision != "delivered" {
		t.Errorf("a delivery at the first attempt, in parts: %v", got)
	}
}

// S0-7, S4-12: log and summary tell of each feature that died by itself; the count of records balances without them.
func TestTally_S4_12_parts(t *testing.T) {
	tally := newTally(parse(t, ""))
	e := inParts(classify.CodeNotJSON)
	tally.add(e)
	if n := tally.counts; n.Consumed != 1 || n.Retried != 1 || n.DeadLettered != 0 || n.DeadParts != 2 || tally.byCode["not_json"] != 2 {
		t.Errorf("%+v, %v", n, tally.byCode)
	}
	var text bytes.Buffer
	logDecision(t.Context(), slog.New(slog.NewJSONHandler(&text, nil)), e.Dead[0])
	if line := text.String(); !strings.Contains(line, `"level":"WARN"`) || !strings.Contains(line, `"part":"3/8"`) || !strings.Contains(line, `"dead_letter_id":"2-7-aabbccdd-3"`) {
		t.Error(line)
	}
}
