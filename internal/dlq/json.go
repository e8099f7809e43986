package dlq

import (
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// GroupJSON is a group of dead letters.
type GroupJSON struct {
	ID        string         `json:"id"`
	Code      string         `json:"code"`
	Stage     string         `json:"stage"`
	Message   string         `json:"message"`
	Count     int            `json:"count"`
	FirstSeen string         `json:"first_seen"`
	LastSeen  string         `json:"last_seen"`
	Bytes     int64          `json:"bytes"`
	Share     *float64       `json:"share"` // lower bound of the share of the consumed source records; null if it is unknown
	Replayed  int            `json:"replayed"`
	Statuses  map[string]int `json:"statuses"`
	PutBack   int            `json:"put_back,omitempty"` // of those discarded: put back to a topic of other software, which reports no outcome
	Example   ExampleJSON    `json:"example"`
	Note      *NoteJSON      `json:"note,omitempty"`
	Values    *ValuesJSON    `json:"values,omitempty"` // with --values
}

// ExampleJSON is one dead letter of a group.
type ExampleJSON struct {
	ID       string `json:"id"`
	Message  string `json:"message"`
	CausedBy string `json:"caused_by,omitempty"` // the innermost exception, if the message does not have it
}

// NoteJSON is a person's note on a group.
type NoteJSON struct {
	Text string `json:"text"`
	By   string `json:"by"`
	At   string `json:"at"`
}

// NewGroupJSON converts a group.
func NewGroupJSON(g Group) GroupJSON {
	statuses := map[string]int{}
	for s, n := range g.Statuses {
		statuses[StatusText(s)] = n
	}
	out := GroupJSON{
		ID: g.ID, Code: g.Code, Stage: g.Stage, Message: g.Message, Count: g.Count,
		FirstSeen: TimeText(g.FirstSeen), LastSeen: TimeText(g.LastSeen), Bytes: g.Bytes,
		Replayed: g.Replayed, PutBack: g.PutBack, Statuses: statuses, Example: ExampleJSON{ID: g.Example, Message: g.Said, CausedBy: g.CausedBy},
	}
	if g.Share >= 0 {
		out.Share = &g.Share
	}
	if g.Note != nil {
		out.Note = &NoteJSON{g.Note.Text, g.Note.By, TimeText(g.Note.At)}
	}
	if g.Values != nil {
		out.Values = newValuesJSON(g.Values)
	}
	return out
}

// ValuesJSON has the values for which the dead letters of a group are refused.
type ValuesJSON struct {
	Read    int     `json:"read"`    // dead letters whose bytes were read
	Failing int     `json:"failing"` // of these, the ones that today's transform refuses
	Refused int     `json:"refused"` // of the failing ones, those refused for one value
	Others  int     `json:"others"`  // of those, the ones whose value is not listed
	Most    []Value `json:"most"`
}

func newValuesJSON(v *Values) *ValuesJSON {
	out := ValuesJSON{Read: v.Asked, Failing: v.Failing, Refused: v.Known, Others: v.Known, Most: append([]Value{}, v.Each[:min(len(v.Each), ValuesListed)]...)}
	for _, one := range out.Most {
		out.Others -= one.Letters
	}
	return &out
}

// StatsJSON counts the dead letters of a DLQ.
type StatsJSON struct {
	DLQ       string              `json:"dlq"`
	Letters   int                 `json:"dead_letters"`
	Statuses  map[string]int      `json:"statuses"`
	PutBack   int                 `json:"put_back,omitempty"` // of those discarded: put back to a topic of other software, which reports no outcome
	Pending   []dlqindex.DayCount `json:"pending"`
	Lost      int                 `json:"lost"`
	Oldest    *OldestJSON         `json:"oldest_pending"`
	Retention RetentionJSON       `json:"retention"`
	Warnings  []string            `json:"warnings"`
}

// OldestJSON is the oldest pending dead letter.
type OldestJSON struct {
	ID         string `json:"id"`
	DiedAt     string `json:"died_at"` // last
	FirstDied  string `json:"first_died_at"`
	AgeSeconds int64  `json:"age_seconds"` // since its first death: a failed replay does not make it younger
	// DeletedInSeconds is how long retention keeps it at least; null if retention does not delete by time.
	DeletedInSeconds *int64 `json:"deleted_in_seconds"`
}

// RetentionJSON is how long the DLQ keeps its records.
type RetentionJSON struct {
	Milliseconds *int64 `json:"ms"` // -1 is forever; null if it is unknown
	Bytes        *int64 `json:"bytes"`
}

// NewStatsJSON converts statistics, as of a time.
func NewStatsJSON(s Stats, now time.Time) StatsJSON {
	out := StatsJSON{
		DLQ: s.Topic, Letters: s.Letters, Statuses: map[string]int{}, PutBack: s.PutBack, Pending: s.Pending, Lost: s.Lost, Warnings: s.Warnings,
	}
	for status, n := range s.Statuses {
		out.Statuses[StatusText(status)] = n
	}
	if out.Pending == nil {
		out.Pending = []dlqindex.DayCount{}
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	if s.Retention.Known {
		ms := s.Retention.Time.Milliseconds()
		if s.Retention.Time < 0 {
			ms = -1
		}
		out.Retention = RetentionJSON{Milliseconds: &ms, Bytes: &s.Retention.Bytes}
	}
	if s.Oldest != nil {
		out.Oldest = &OldestJSON{ID: s.Oldest.ID, DiedAt: TimeText(s.Oldest.At), FirstDied: TimeText(s.Oldest.FirstAt), AgeSeconds: int64(now.Sub(s.Oldest.FirstAt) / time.Second)}
		if at := s.Retention.Deletes; !at.IsZero() {
			left := int64(max(at.Sub(now), 0) / time.Second)
			out.Oldest.DeletedInSeconds = &left
		}
	}
	return out
}

// SyncedJSON counts what was added to the index.
type SyncedJSON struct {
	Index string `json:"index"`
	DLQ   string `json:"dlq"`
	dlqindex.Synced

	TookSeconds float64 `json:"took_seconds"`
}

// CheckedJSON is the comparison of the index with the topics.
type CheckedJSON struct {
	Index string `json:"index"`
	DLQ   string `json:"dlq"`
	dlqindex.Checked
}

// NewSyncedJSON converts the result of [dlqindex.Index.Sync] or [dlqindex.Index.Rebuild].
func (s *Service) NewSyncedJSON(done dlqindex.Synced) SyncedJSON {
	return SyncedJSON{s.index.Place(), s.Topic(), done, done.Took.Round(time.Millisecond).Seconds()}
}

// NewCheckedJSON converts the result of [dlqindex.Index.Check].
func (s *Service) NewCheckedJSON(found dlqindex.Checked) CheckedJSON {
	return CheckedJSON{s.index.Place(), s.Topic(), found}
}

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

// PlanJSON is a complete plan.
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
	Letters  []PlannedJSON      `json:"dead_letters"`
}

// NewPlannedJSON converts one dead letter of a plan for a DLQ.
func NewPlannedJSON(dlq string, l *plan.Line) PlannedJSON {
	out := PlannedJSON{
		ID: l.ID, DLQ: PositionJSON(l.DLQ(dlq)), ContentHash: l.ContentHash, Group: l.Group, Died: l.Died,
		Action: l.Do, Target: l.Target, Becomes: l.Becomes, Shape: l.Shape, Change: l.Change, Absent: l.Absent, Force: l.Force, Reversed: l.Reversed, Reopened: l.Reopened, DuplicateOf: l.DuplicateOf, Why: l.Why, Overtaken: l.Overtaken,
	}
	if l.Do != plan.Leave && l.Target == "" { // without a pipeline there is no transform
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
