package plan

import (
	"cmp"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Summary counts a plan.
type Summary struct {
	Selected   int   `json:"selected"`
	Reinject   int   `json:"reinject"`
	Duplicates int   `json:"duplicates"`
	Left       int   `json:"left"`
	Overtaken  int   `json:"overtaken"`  // of those left: the consumer closed them as superseded; reopened and forced, they take effect
	WouldPass  int   `json:"would_pass"` // of the letters to reinject
	WouldFail  int   `json:"would_fail"`
	Superseded int   `json:"superseded"`        // of those that would pass: a newer event of the key took effect, the consumer will close them
	Overwrites int   `json:"overwrites"`        // of those that would pass: a newer event took effect, and they are forced over it
	Reversed   int   `json:"reversed,omitzero"` // of the letters to reinject: a younger one of the same key goes back, or went, before each
	Reopened   int   `json:"reopened,omitzero"` // of the letters to reinject: put back before, and reopened since
	Bytes      int64 `json:"bytes"`             // values of the letters to reinject

	Absent       int    `json:"absent,omitzero"`         // of the letters to reinject: an expression reads a field that the value does not have
	AbsentFields string `json:"absent_fields,omitempty"` // those of the first such letter
}

// Back counts the letters that are put back: not those that today's transform refuses, unless failing says so or they leave the pipeline.
func (p *Plan) Back(failing bool) int {
	if failing || p.To != "" {
		return p.Summary().Reinject
	}
	return p.Summary().WouldPass
}

// Changes counts the letters that go back or are closed as duplicates.
func (p *Plan) Changes(failing bool) int { return p.Back(failing) + p.Summary().Duplicates }

func (s *Summary) add(l *Letter) {
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

// Outcome is one line of a dry run: letters that died of one cause and of which the same is to
// be expected now.
type Outcome struct {
	Group      string `json:"group"` // fingerprint of why they died
	Died       string `json:"died"`  // code of why they died
	Action     Action `json:"action"`
	Passes     bool   `json:"passes"`               // today's transform takes them
	Superseded bool   `json:"superseded,omitempty"` // and the consumer will close them, since a newer event took effect
	Unjudged   bool   `json:"unjudged,omitempty"`   // of a DLQ without a pipeline: nobody judged them
	Reversed   bool   `json:"reversed,omitempty"`   // and a younger one of the same key goes back, or went, before each
	Overwrites bool   `json:"overwrites,omitempty"` // and they are forced over a newer event that took effect
	Code       string `json:"code,omitempty"`       // why not
	Message    string `json:"message,omitempty"`    // why not, normalised; for Leave, why it is left
	Shape      string `json:"shape,omitempty"`      // which fields a rewrite changes
	Change     string `json:"change,omitempty"`     // some differences of the first of them
	Count      int    `json:"count"`
	Example    string `json:"example"` // id of the first of them in the DLQ
}

// maxOutcomes bounds an outlook; what goes beyond it is counted under one line.
const maxOutcomes = 1000

// outlook counts letters by what is to be expected of them.
type outlook map[Outcome]*Outcome

func (o outlook) add(l *Letter) {
	key := outcomeOf(l)
	found := o[key]
	if found == nil {
		if len(o) >= maxOutcomes {
			key = Outcome{Action: l.Do, Message: "(more causes than can be shown)"}
			found = o[key]
		}
		if found == nil {
			first := key
			first.Example, first.Change = l.ID, l.Change
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

func outcomeOf(l *Letter) Outcome {
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
