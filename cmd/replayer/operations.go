package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/replay"
)

// auditActions prints one line for each command of an operator.
func (a *app) auditActions(ctx context.Context, s *replay.Service, f replay.TrailFilter) error {
	actions, err := s.Actions(ctx, f)
	if err != nil {
		return err
	}
	if len(actions) == 0 {
		return noEvent()
	}
	if a.output == "table" {
		return a.actionTable(actions)
	}
	e := a.emitter()
	for _, act := range actions {
		if err := e.emit(act); err != nil {
			return err
		}
	}
	return e.end()
}

func (a *app) actionTable(actions []replay.Action) error {
	t := table{columns: []column{
		{title: "BEGAN"}, {title: "WHO"}, {title: "OPERATION"}, {title: "DONE", below: true}, {title: "REASON", below: true}, {title: "WHAT", below: true},
	}}
	for _, act := range actions {
		t.add(act.Began.UTC().Format("2006-01-02 15:04:05"), audit.Who(act.By, act.User), orDash(act.Operation), orDash(done(act)), orDash(act.Reason), orDash(purpose(act)))
	}
	fmt.Fprint(a.env.Err, t.rest())
	return t.write(a.env.Out, a.env)
}

// purpose says what an action was to do, and what the watched group made of it.
func purpose(act replay.Action) string {
	if act.Watched == "" || act.Watched == act.What {
		return act.What
	}
	return act.What + "; " + act.Watched
}

// done says how many dead letters an action changed, the most first: "4800 replayed, 2 edited".
func done(act replay.Action) string {
	var said []string
	for _, kind := range act.Kinds() {
		said = append(said, fmt.Sprintf("%d %s", act.Done[kind], strings.ReplaceAll(string(kind), "_", " ")))
	}
	return strings.Join(said, ", ")
}
