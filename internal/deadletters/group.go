package deadletters

import (
	"cmp"
	"slices"
	"time"
)

// Group is the dead letters with the same cause: same code, same stage, same message after IDs and numbers are removed
// and, if the message is a wrapper's, the same innermost cause.
type Group struct {
	ID        string // the fingerprint
	Code      string // classify.Code; empty for dead letters of other software
	Stage     string // classify.Stage
	Message   string // see [Letter.Pattern]
	Count     int
	FirstSeen time.Time // earliest death among them
	LastSeen  time.Time
	Bytes     int64          // of the original values
	Replayed  int            // dead letters that have been put back at least once
	Statuses  map[Status]int // dead letters by status; unreadable states are under ""
	PutBack   int            // of those discarded: put back to a topic of other software, which reports no outcome
	Example   string         // ID of the dead letter that died last
	Said      string         // that dead letter's message, not normalised
	CausedBy  string         // that dead letter's innermost cause, if the message does not have it
}

// Grouping sorts dead letters into groups.
type Grouping struct{ byID map[string]*Group }

// Add adds a dead letter.
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

// Groups returns the groups so far, the largest first, then by ID.
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
