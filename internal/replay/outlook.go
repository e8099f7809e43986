package replay

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
	WouldPass  int   `json:"would_pass"` // of the letters to reinject
	WouldFail  int   `json:"would_fail"`
	Bytes      int64 `json:"bytes"` // values of the letters to reinject
}

// Summary counts what the plan would do and what the transform says of what goes back.
func (p *Plan) Summary() Summary {
	s := Summary{Selected: len(p.Letters)}
	for i := range p.Letters {
		s.add(&p.Letters[i])
	}
	return s
}

func (s *Summary) add(l *Planned) {
	switch l.Action {
	case Duplicate:
		s.Duplicates++
		return
	case Leave:
		s.Left++
		return
	case Reinject:
	}
	s.Reinject++
	s.Bytes += int64(l.Size)
	if l.Verdict.Passes {
		s.WouldPass++
	} else {
		s.WouldFail++
	}
}

// Outcome is one line of a dry run: letters that died of one cause and of which the same is to
// be expected now.
type Outcome struct {
	Group   string `json:"group"` // fingerprint of why they died
	Died    string `json:"died"`  // code of why they died
	Action  Action `json:"action"`
	Passes  bool   `json:"passes"`            // today's transform takes them
	Code    string `json:"code,omitempty"`    // why not
	Message string `json:"message,omitempty"` // why not, normalised; for Leave, why it is left
	Count   int    `json:"count"`
	Example string `json:"example"` // id of the oldest of them
}

// Outlook groups the plan by why letters died and what is to be expected now, the most first.
func (p *Plan) Outlook() []Outcome {
	byKey := map[Outcome]*Outcome{}
	for i := range p.Letters {
		l := &p.Letters[i]
		key := l.outcome()
		o := byKey[key]
		if o == nil {
			first := key
			first.Example = l.ID
			o = &first
			byKey[key] = o
		}
		o.Count++
	}
	out := make([]Outcome, 0, len(byKey))
	for _, o := range byKey {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Group, b.Group),
			cmp.Compare(slices.Index(Actions(), a.Action), slices.Index(Actions(), b.Action)), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return out
}

func (l *Planned) outcome() Outcome {
	o := Outcome{Group: l.Group, Died: l.Code, Action: l.Action}
	switch {
	case l.Action == Leave:
		o.Message = deadletters.Normalise(l.Why)
	case l.Verdict.Passes:
		o.Passes = true
	default:
		o.Code, o.Message = string(l.Verdict.Code), deadletters.NormaliseFor(l.FeatureID, l.Verdict.Message)
	}
	return o
}
