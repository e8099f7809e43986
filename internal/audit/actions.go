package audit

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Action is what an operator did with one call of a command. A plan that is executed again is another action.
type Action struct {
	Operation string           `json:"operation,omitempty"` // ID of the replay or change; "" for an order for the pipeline
	Began     time.Time        `json:"began"`
	Ended     time.Time        `json:"ended"` // time of its last event
	By        string           `json:"by"`
	User      string           `json:"user,omitempty"` // user of the operating system and the machine
	What      string           `json:"what"`           // what the operator intended to do
	Reason    string           `json:"reason,omitempty"`
	Filter    string           `json:"filter,omitempty"`
	Plan      string           `json:"plan,omitempty"`
	Force     string           `json:"force,omitempty"`
	Done      map[Decision]int `json:"done"`              // committed events about dead letters, by decision
	Watched   string           `json:"watched,omitempty"` // how far the watched consumer group has read
}

// Actions collects actions. It finds those of operations by their IDs, because the events of one operation are in
// several partitions, which are read one after another.
type Actions struct {
	of   map[[2]string]*Action // by operation and call
	list []*Action
}

// Add adds an event of an operator.
func (a *Actions) Add(e *Event) {
	act := a.action(e)
	if e.Time.Before(act.Began) {
		act.Began = e.Time
	}
	if e.Time.After(act.Ended) {
		act.Ended = e.Time
	}
	switch {
	case e.DeadLetter != "":
		act.Done[e.Decision]++
	case e.Decision == Watched:
		act.Watched = e.Message
	case act.What == "": // a second one is of a session whose commit was not confirmed
		act.User = e.User
		act.What, act.Reason, act.By, act.Filter, act.Plan, act.Force = e.Message, e.Reason, e.By, e.Filter, e.Plan, e.Force
	}
}

// action returns the action of an event. An event that is neither an operation nor about a dead letter is an action
// of its own.
func (a *Actions) action(e *Event) *Action {
	id := e.RunID
	if e.DeadLetter == "" && e.Decision != Operation && e.Decision != Watched {
		id = ""
	}
	call := [2]string{id, e.Call}
	if found := a.of[call]; id != "" && found != nil {
		return found
	}
	act := &Action{Operation: id, Began: e.Time, Ended: e.Time, By: e.By, User: e.User, Reason: e.Reason, Done: map[Decision]int{}}
	if id != "" {
		if a.of == nil {
			a.of = map[[2]string]*Action{}
		}
		a.of[call] = act
	}
	a.list = append(a.list, act)
	return act
}

// Kinds returns the decisions that were made, the most frequent first.
func (a *Action) Kinds() []Decision {
	return slices.SortedFunc(maps.Keys(a.Done), func(x, y Decision) int {
		return cmp.Or(cmp.Compare(a.Done[y], a.Done[x]), cmp.Compare(x, y))
	})
}

// List returns the actions, the oldest first.
func (a *Actions) List() []Action {
	out := make([]Action, len(a.list))
	for i, act := range a.list {
		out[i] = *act
		out[i].What = cmp.Or(act.What, act.Watched) // a call that changed nothing has no other event
	}
	slices.SortStableFunc(out, func(x, y Action) int { return cmp.Or(x.Began.Compare(y.Began), cmp.Compare(x.Operation, y.Operation)) })
	return out
}
