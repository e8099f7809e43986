package dlq

import (
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// PlannedJSON is one dead letter of a plan.
type PlannedJSON struct {
	ID          string        `json:"id"`
	DLQ         PositionJSON  `json:"dlq"`
	ContentHash string        `json:"content_hash"`
	Group       string        `json:"group"`
	Died        string        `json:"died"`
	Action      plan.Action   `json:"action"`
	Target      string        `json:"target,omitempty"`
	Becomes     string        `json:"becomes,omitempty"` // hash of the rewritten value
	Shape       string        `json:"shape,omitempty"`   // the fields that the rewrite changes
	Change      string        `json:"change,omitempty"`  // some of the differences
	Absent      string        `json:"absent,omitempty"`  // fields that expressions read and the value does not have
	Force       bool          `json:"force_version,omitempty"`
	Reopened    bool          `json:"reopened,omitempty"` // a replay took it before, and an operator made it pending again
	Reversed    bool          `json:"reversed,omitempty"` // a younger one of the same key goes back, or went, before it
	DuplicateOf string        `json:"duplicate_of,omitempty"`
	Why         string        `json:"why,omitempty"`
	Overtaken   bool          `json:"overtaken,omitempty"`
	Today       *plan.Verdict `json:"today,omitempty"`
}

// PlanJSON is a whole plan.
type PlanJSON struct {
	ID       string             `json:"id"`
	Pipeline string             `json:"pipeline"`
	Source   string             `json:"source"`
	To       string             `json:"to,omitempty"`
	DLQ      string             `json:"dlq"`
	MadeAt   string             `json:"made_at"`
	Filter   deadletters.Filter `json:"filter"`
	Force    string             `json:"force_version,omitempty"`
	Doubt    string             `json:"doubt,omitempty"`
	Summary  plan.Summary       `json:"summary"`
	Outlook  []plan.Outcome     `json:"outlook"`
	Targets  map[string]int     `json:"targets,omitempty"` // of a DLQ without a pipeline: number of dead letters by topic
	Letters  []PlannedJSON      `json:"letters"`
}

// NewPlannedJSON converts one dead letter of a plan for a DLQ.
func NewPlannedJSON(dlq string, l *plan.Letter) PlannedJSON {
	out := PlannedJSON{
		ID: l.ID, DLQ: PositionJSON(l.DLQ(dlq)), ContentHash: l.ContentHash, Group: l.Group, Died: l.Died,
		Action: l.Do, Target: l.Target, Becomes: l.Becomes, Shape: l.Shape, Change: l.Change, Absent: l.Absent, Force: l.Force, Reversed: l.Reversed, Reopened: l.Reopened, DuplicateOf: l.DuplicateOf, Why: l.Why, Overtaken: l.Overtaken,
	}
	if l.Do != plan.Leave && l.Target == "" { // without a pipeline no transform was asked
		today := l.Today
		out.Today = &today
	}
	return out
}

// NewPlanJSON converts a plan with all of its dead letters: [plan.Plan.All] with [NewPlannedJSON] converts them one by
// one.
func NewPlanJSON(p *plan.Plan) (PlanJSON, error) {
	out := PlanJSON{
		ID: p.ID, Pipeline: p.Pipeline, Source: p.Source, To: p.To, DLQ: p.DLQ, MadeAt: TimeText(p.MadeAt), Filter: p.Filter,
		Force: p.Force, Doubt: p.Doubt,
		Summary: p.Summary(), Outlook: p.Outlook(), Targets: p.Targets(), Letters: []PlannedJSON{},
	}
	for l, err := range p.All() {
		if err != nil {
			return out, err
		}
		out.Letters = append(out.Letters, NewPlannedJSON(p.DLQ, l))
	}
	return out, nil
}
