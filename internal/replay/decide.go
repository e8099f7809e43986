package replay

import (
	"fmt"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// staged is what one transaction does with one letter.
type staged struct {
	action Action // Reinject or Duplicate; Leave is never written
	why    string // for Leave
	letter *deadletters.Letter
	prev   deadletters.State
	next   deadletters.State
}

// decide says what happens to a letter of the plan, by the states that were read after every
// other replayer was fenced.
func (r *run) decide(p *Planned, l *deadletters.Letter) (staged, error) {
	if l.ID != p.ID || l.ContentHash != p.ContentHash {
		return leave("another letter lies at " + p.DLQ.String() + " now: make a new plan"), nil
	}
	if why := r.service.unfit(l, r.states); why != "" {
		return leave(why), nil
	}
	prev, err := r.states.Of(l.ID)
	if err != nil {
		return leave(err.Error()), nil
	}
	if prev.ReprocessCount != p.ReprocessCount {
		return leave("it was replayed and failed again since the plan was made: make a new plan"), nil
	}
	if r.options.OnlyPassing && !p.Verdict.Passes {
		return leave(fmt.Sprintf("today's transform would refuse it: %s", p.Verdict.Code)), nil
	}
	l.State, l.Status = prev, prev.Status
	change := deadletters.Change{
		To: deadletters.Replaying, Reason: r.options.Reason, By: r.service.by,
		ReplayID: r.options.ReplayID, At: r.service.now(),
	}
	do := staged{action: Reinject, letter: l, prev: prev}
	if other, ok := r.states.Holder(l.ContentHash); ok {
		do.action = Duplicate
		change.To, change.Reason = deadletters.Duplicate, "same content as "+other+"; "+change.Reason
	}
	prev.Source, prev.DLQ, prev.ContentHash = l.Control.Source, l.DLQ, l.ContentHash
	if do.next, err = deadletters.Next(prev, change); err != nil {
		return staged{}, err
	}
	return do, nil
}

func leave(why string) staged { return staged{action: Leave, why: why} }
