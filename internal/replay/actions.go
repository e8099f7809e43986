package replay

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
)

// Action is what an operator did with one call of a command. A plan that is applied again is an action of its own.
type Action struct {
	Operation string                 `json:"operation,omitempty"` // id of the replay or change; "" of an order for the pipeline
	Began     time.Time              `json:"began"`
	Ended     time.Time              `json:"ended"` // time of the last event that it left
	By        string                 `json:"by"`
	User      string                 `json:"user,omitempty"` // of the operating system, and the machine
	What      string                 `json:"what"`           // what was meant to be done
	Reason    string                 `json:"reason,omitempty"`
	Filter    string                 `json:"filter,omitempty"`
	Plan      string                 `json:"plan,omitempty"`
	Force     string                 `json:"force,omitempty"`
	Done      map[audit.Decision]int `json:"done"`              // committed events about dead letters, by decision
	Watched   string                 `json:"watched,omitempty"` // what the watched consumer group made of it
}

// Actions folds the selected audit events of operators into one entry for each command, the oldest first. What was done is counted
// from the events of the dead letters, which are committed with them; not from what the command meant to do.
func (s *Service) Actions(ctx context.Context, f TrailFilter) ([]Action, error) {
	var fold actions
	err := s.Trail(ctx, f, func(e audit.Event) error {
		if e.By != "" {
			fold.add(&e)
		}
		return nil
	})
	return fold.sorted(), err
}

// actions are the actions so far. Those of operations are found by their ids; partitions come one after the other, so the events of an
// operation do not.
type actions struct {
	of   map[[2]string]*Action // by operation and call
	list []*Action
}

func (a *actions) add(e *audit.Event) {
	act := a.action(e)
	if e.Time.Before(act.Began) {
		act.Began = e.Time
	}
	if e.Time.After(act.Ended) {
		act.Ended = e.Time
	}
	switch {
	case e.Letter != "":
		act.Done[e.Decision]++
	case e.Decision == audit.Watched:
		act.Watched = e.Message
	case act.What == "": // a second one is that of a session whose commit was not confirmed
		act.User = e.User
		act.What, act.Reason, act.By, act.Filter, act.Plan, act.Force = e.Message, e.Reason, e.By, e.Filter, e.Plan, e.Force
	}
}

// action finds the action of an event. One that is neither an operation nor about a dead letter stands for itself.
func (a *actions) action(e *audit.Event) *Action {
	id := e.RunID
	if e.Letter == "" && e.Decision != audit.Operation && e.Decision != audit.Watched {
		id = ""
	}
	call := [2]string{id, e.Call}
	if found := a.of[call]; id != "" && found != nil {
		return found
	}
	act := &Action{Operation: id, Began: e.Time, Ended: e.Time, By: e.By, User: e.User, Reason: e.Reason, Done: map[audit.Decision]int{}}
	if id != "" {
		if a.of == nil {
			a.of = map[[2]string]*Action{}
		}
		a.of[call] = act
	}
	a.list = append(a.list, act)
	return act
}

// Kinds are the decisions that were made, the most first.
func (a *Action) Kinds() []audit.Decision { return mostFirst(a.Done) }

func (a *actions) sorted() []Action {
	out := make([]Action, len(a.list))
	for i, act := range a.list {
		out[i] = *act
		out[i].What = cmp.Or(act.What, act.Watched) // of a call that changed nothing
	}
	slices.SortStableFunc(out, func(x, y Action) int { return cmp.Or(x.Began.Compare(y.Began), cmp.Compare(x.Operation, y.Operation)) })
	return out
}
