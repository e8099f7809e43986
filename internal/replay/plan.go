package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Action is what a replay would do with one letter. It is a closed list (see [Actions]).
type Action string

// The actions.
const (
	Reinject  Action = "reinject"  // put back into the source topic
	Duplicate Action = "duplicate" // close: a letter of the same content is put back in its place
	Leave     Action = "leave"     // do nothing; Planned.Why says why
)

// Actions returns every action.
func Actions() []Action { return []Action{Reinject, Duplicate, Leave} }

// Planned is one letter of a plan.
type Planned struct {
	ID             string
	DLQ            retrytopics.Position // the record that the plan speaks of
	ContentHash    string
	Group          string // fingerprint of why it died
	Code           string // why it died
	FeatureID      string
	ReprocessCount int // when the plan was made; a change makes the letter stale
	Size           int // bytes of the value
	Action         Action
	DuplicateOf    string  // for Duplicate: the letter that stands for this one
	Why            string  // for Leave
	Verdict        Verdict // today's transform on the original bytes
}

// Plan freezes which letters a replay is about. Making one changes nothing; [Service.Execute]
// acts on its letters and no others.
type Plan struct {
	Pipeline string
	Source   string // topic that letters go back to
	DLQ      string
	MadeAt   time.Time
	Filter   deadletters.Filter
	Ends     map[int32]int64 // end offsets of the DLQ when it was made
	Letters  []Planned       // the oldest death first
}

// Plan selects letters and runs today's transform on each. Without statuses or ids in the
// filter, it selects pending letters; a letter that is named by its id but cannot be replayed is
// in the plan with the action Leave.
func (s *Service) Plan(ctx context.Context, f deadletters.Filter) (*Plan, error) {
	x, err := s.index(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(f.Statuses) == 0 && len(f.IDs) == 0 {
		f.Statuses = []deadletters.Status{deadletters.Pending}
	}
	p := &Plan{
		Pipeline: s.cfg.Pipeline.ID, Source: s.cfg.Source.Topic, DLQ: s.cfg.Topics.DLQ,
		MadeAt: s.now().UTC(), Filter: f, Ends: x.Ends,
	}
	taken := map[string]string{} // content hash -> the letter that is put back
	for _, l := range x.Letters(f) {
		p.Letters = append(p.Letters, s.planned(&l, x.States, taken))
	}
	return p, s.judgeAll(ctx, p)
}

// planned decides what would be done with a letter, given what the letters before it take.
func (s *Service) planned(l *deadletters.Letter, states *deadletters.States, taken map[string]string) Planned {
	p := Planned{
		ID: l.ID, DLQ: l.DLQ, ContentHash: l.ContentHash, Group: l.Group, Code: l.Control.ErrorCode, FeatureID: l.Control.FeatureID,
		ReprocessCount: l.State.ReprocessCount, Size: l.Size, Action: Reinject,
	}
	if why := s.unfit(l, states); why != "" {
		p.Action, p.Why = Leave, why
		return p
	}
	if other, ok := states.Holder(l.ContentHash); ok {
		p.Action, p.DuplicateOf = Duplicate, other
		return p
	}
	if other, ok := taken[l.ContentHash]; ok {
		p.Action, p.DuplicateOf = Duplicate, other
		return p
	}
	taken[l.ContentHash] = l.ID
	return p
}

// unfit says why a letter cannot be replayed, or "". It asks the given states, which may be newer
// than those that the letter was listed with.
func (s *Service) unfit(l *deadletters.Letter, states *deadletters.States) string {
	state, err := states.Of(l.ID)
	if err != nil {
		return err.Error()
	}
	if !state.Status.CanBecome(deadletters.Replaying) {
		return fmt.Sprintf("it is %s%s", state.Status, since(state))
	}
	source, known := l.Source()
	if !known {
		return "its first position is not known (no readable header " + retrytopics.HeaderSource +
			"): put back, it would count as new and could overwrite newer data"
	}
	if source.Topic != s.cfg.Source.Topic {
		return fmt.Sprintf("it comes from topic %s, this pipeline reads %s", source.Topic, s.cfg.Source.Topic)
	}
	return ""
}

func since(state deadletters.State) string {
	if state.At.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s (by %s)", state.At.Format(time.RFC3339), state.By)
}

// judgeAll reads the values of the planned letters, one at a time, and asks the transform.
func (s *Service) judgeAll(ctx context.Context, p *Plan) error {
	at := p.positions()
	return deadletters.Scan(ctx, s.client, s.cfg.Topics.DLQ, p.spans(), func(r *kgo.Record) error {
		if i, ok := at[position(r)]; ok {
			p.Letters[i].Verdict = judge(ctx, s.mapping, r.Headers, r.Value)
		}
		return nil
	})
}

// positions says which letter of the plan lies where.
func (p *Plan) positions() map[retrytopics.Position]int {
	at := make(map[retrytopics.Position]int, len(p.Letters))
	for i := range p.Letters {
		at[p.Letters[i].DLQ] = i
	}
	return at
}

// spans gives the parts of the DLQ in which the plan's letters lie.
func (p *Plan) spans() spanSet {
	spans := spanSet{}
	for i := range p.Letters {
		spans.add(p.Letters[i].DLQ)
	}
	return spans
}

// spanSet is, for each partition, the smallest span that holds some positions.
type spanSet map[int32]deadletters.Span

func (s spanSet) add(at retrytopics.Position) {
	span, ok := s[at.Partition]
	if !ok {
		span = deadletters.Span{Start: at.Offset, End: at.Offset + 1}
	}
	s[at.Partition] = deadletters.Span{Start: min(span.Start, at.Offset), End: max(span.End, at.Offset+1)}
}

func position(r *kgo.Record) retrytopics.Position {
	return retrytopics.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}
