package deadletters

import (
	"cmp"
	"slices"
	"time"
)

// Group is the letters that died of the same cause: same code, same stage, same message once ids
// and numbers are removed, and behind a wrapper the same innermost cause.
type Group struct {
	ID        string // the fingerprint
	Code      string // classify.Code; empty for letters of other software
	Stage     string // classify.Stage
	Message   string // see [Letter.Pattern]
	Count     int
	FirstSeen time.Time // earliest death among them
	LastSeen  time.Time
	Bytes     int64          // of the original values
	Replayed  int            // letters that have been put back at least once
	Statuses  map[Status]int // letters by status; the unreadable are under ""
	PutBack   int            // of those discarded: a replay sent them to a topic where nobody reports what becomes of them
	Example   string         // id of the letter that died last
	Said      string         // that letter's message, not normalised
	CausedBy  string         // what that letter's message does not say of its innermost cause
}

// Grouping sorts letters into groups, one after another.
type Grouping struct{ byID map[string]*Group }

// Add takes a letter.
func (x *Grouping) Add(l *Letter) {
	if x.byID == nil {
		x.byID = map[string]*Group{}
	}
	g := x.byID[l.Group]
	if g == nil {
		g = &Group{
			ID: l.Group, Code: l.Control.ErrorCode, Stage: l.Control.ErrorStage,
			Message: l.Pattern(), FirstSeen: l.At, Statuses: map[Status]int{},
		}
		x.byID[l.Group] = g
	}
	g.add(l)
}

// Groups are those of the letters so far, the largest first, then by id.
func (x *Grouping) Groups() []Group {
	groups := make([]Group, 0, len(x.byID))
	for _, g := range x.byID {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
	})
	return groups
}

func (g *Group) add(l *Letter) {
	g.Count++
	g.Bytes += int64(l.Size)
	g.Statuses[l.Status]++
	if l.Replays() > 0 || l.Status == Replaying {
		g.Replayed++
	}
	if l.At.Before(g.FirstSeen) {
		g.FirstSeen = l.At
	}
	if g.Example == "" || !l.At.Before(g.LastSeen) {
		g.LastSeen, g.Example, g.Said, g.CausedBy = l.At, l.ID, l.Control.ErrorMessage, l.HiddenCause()
	}
}
