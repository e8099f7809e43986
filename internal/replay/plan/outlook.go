package plan

import (
	"cmp"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Summary counts the dead letters of a plan.
type Summary struct {
	Selected   int   `json:"selected"`
	Reinject   int   `json:"reinject"`
	Duplicates int   `json:"duplicates"`
	Left       int   `json:"left"`
	Overtaken  int   `json:"overtaken"`  // left because the consumer closed them as superseded; reopened and forced, they take effect
	WouldPass  int   `json:"would_pass"` // of the dead letters to reinject
	WouldFail  int   `json:"would_fail"`
	Superseded int   `json:"superseded"`        // of WouldPass: a newer event of the key was applied, so the consumer will close them
	Overwrites int   `json:"overwrites"`        // of WouldPass: a newer event was applied, and they are forced over it
	Reversed   int   `json:"reversed,omitzero"` // of the dead letters to reinject: a younger one of the same key goes back, or went back, before each
	Reopened   int   `json:"reopened,omitzero"` // of the dead letters to reinject: put back before, and reopened since
	Bytes      int64 `json:"bytes"`             // values of the dead letters to reinject

	Absent       int    `json:"absent,omitzero"`         // of the dead letters to reinject: an expression reads a field that the value does not have
	AbsentFields string `json:"absent_fields,omitempty"` // those fields of the first such dead letter
}

// Back returns the number of dead letters to put back. Without failing, it leaves out those that today's transform
// refuses, unless they leave the pipeline.
func (p *Plan) Back(failing bool) int {
	if failing || p.To != "" {
		return p.Summary().Reinject
	}
	return p.Summary().WouldPass
}

// Changes returns the number of dead letters that go back or are closed as duplicates.
func (p *Plan) Changes(failing bool) int { return p.Back(failing) + p.Summary().Duplicates }

func (s *Summary) add(l *Line) {
	s.Selected++
	switch l.Do {
	case Duplicate:
		s.Duplicates++
		return
	case Leave:
		s.Left++
		if l.Overtaken {
			s.Overtaken++
		}
		return
	case Reinject:
	}
	s.Reinject++
	s.Bytes += int64(l.Size)
	if l.Reversed {
		s.Reversed++
	}
	if l.Reopened {
		s.Reopened++
	}
	if l.Absent != "" {
		s.Absent++
		s.AbsentFields = cmp.Or(s.AbsentFields, l.Absent)
	}
	if !l.Today.Passes {
		s.WouldFail++
		return
	}
	s.WouldPass++
	switch {
	case l.overwrites():
		s.Overwrites++
	case l.Today.Superseded:
		s.Superseded++
	}
}

// Outcome is one line of a dry run: dead letters that died of the same error and are expected to end in the same way.
type Outcome struct {
	Group      string `json:"group"` // fingerprint of the error that they died of
	Died       string `json:"died"`  // code of the error that they died of
	Action     Action `json:"action"`
	Passes     bool   `json:"passes"`               // today's transform accepts them
	Superseded bool   `json:"superseded,omitempty"` // the consumer will close them, since a newer event was applied
	Unjudged   bool   `json:"unjudged,omitempty"`   // nothing judged them, since the DLQ has no pipeline
	Reversed   bool   `json:"reversed,omitempty"`   // a younger dead letter of the same key goes back, or went back, before each
	Overwrites bool   `json:"overwrites,omitempty"` // they are forced over a newer event that was applied
	Code       string `json:"code,omitempty"`       // error code of today's transform
	Message    string `json:"message,omitempty"`    // error of today's transform for the first of them; for Leave, the reason
	Shape      string `json:"shape,omitempty"`      // fields that the rewrite changes
	Change     string `json:"change,omitempty"`     // some changes of the first of them
	Count      int    `json:"count"`
	Example    string `json:"example"` // ID of the first of them in the DLQ
}

// Fails reports whether today's transform refuses them.
func (o Outcome) Fails() bool { return o.Action == Reinject && !o.Passes && !o.Unjudged }

// maxOutcomes bounds the lines of an outlook. Further lines count the other dead letters by action, and by whether they
// would pass.
const maxOutcomes = 1000

// outlook counts dead letters by their expected outcome. The message of a key is normalised.
type outlook map[Outcome]*Outcome

func (o outlook) add(l *Line) {
	own := outcomeOf(l)
	key, found := own, o[own]
	if found == nil {
		if len(o) >= maxOutcomes {
			key = Outcome{Action: l.Do, Passes: own.Passes, Unjudged: own.Unjudged, Message: "(more causes than can be shown)"}
			found = o[key]
		}
		if found == nil {
			first := key
			first.Example, first.Change = l.ID, l.Change
			if key == own {
				first.Message = messageOf(l)
			}
			found = &first
			o[key] = found
		}
	}
	found.Count++
}

func (o outlook) sorted() []Outcome {
	out := make([]Outcome, 0, len(o))
	for _, found := range o {
		out = append(out, *found)
	}
	slices.SortFunc(out, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Group, b.Group),
			cmp.Compare(slices.Index(Actions(), a.Action), slices.Index(Actions(), b.Action)), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Example, b.Example))
	})
	return out
}

// messageOf returns why a dead letter is left, or the error of today's transform.
func messageOf(l *Line) string {
	if l.Do == Leave {
		return l.Why
	}
	return l.Today.Message
}

func outcomeOf(l *Line) Outcome {
	o := Outcome{Group: l.Group, Died: l.Died, Action: l.Do, Shape: l.Shape}
	switch {
	case l.Do == Leave:
		o.Message = deadletters.Normalise(l.Why)
	case l.Target != "":
		o.Unjudged, o.Overwrites, o.Reversed = true, l.overwrites(), l.Reversed
	case l.Today.Passes:
		o.Passes, o.Overwrites = true, l.overwrites()
		o.Superseded = l.Today.Superseded && !o.Overwrites
	default:
		o.Code, o.Message = string(l.Today.Code), deadletters.NormaliseFor(l.FeatureID, l.Today.Message)
	}
	return o
}
