package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// maxAdvised is the number of dead letters that a printed command names by their ids. A larger number is selected by
// the filter.
const maxAdvised = 20

// adviseForce prints the commands that force dead letters of a plan over newer data. The consumer may have closed them
// already, then they are reopened first. A plan for another topic needs no such commands.
func (a *app) adviseForce(p *plan.Plan) {
	s := p.Summary()
	closed := s.Overtaken
	if p.Force != "" || p.Letters == 0 { // otherwise the filter did not select them
		closed += p.Overtaken
	}
	if p.To != "" || closed == 0 && (s.Superseded == 0 || p.Force != "") {
		return
	}
	if closed > 0 {
		fmt.Fprintf(a.env.Err, "Newer data took effect over %s, which the consumer closed as superseded. To let the older version win:\n", cli.Count(closed, "dead letter"))
		f := p.Filter
		f.Statuses = []deadletters.Status{deadletters.Superseded}
		fmt.Fprintf(a.env.Err, "  replayer reopen %s%s%s --execute --reason 'why'\n", a.dlqText(), flagsOf(f), expectFlag(closed, false))
	} else {
		fmt.Fprintf(a.env.Err, "The consumer will close %s as superseded. To let the older version win:\n", cli.Count(s.Superseded, "dead letter"))
	}
	a.forcedPlan(reopened(p.Filter))
}

// adviseReopened prints the command that forces reopened dead letters over the newer data that superseded them.
func (a *app) adviseReopened(f deadletters.Filter, r replay.ChangeResult) {
	n := len(r.Overtaken)
	if n == 0 {
		return
	}
	f = reopened(f)
	if n <= maxAdvised {
		f = deadletters.Filter{IDs: r.Overtaken}
	}
	fmt.Fprintln(a.env.Err, "Newer data took effect over dead letters that are pending again: a plain replay closes them once more. To let the older version win:")
	a.forcedPlan(f)
}

// forcedPlan prints the command of a forced plan.
func (a *app) forcedPlan(f deadletters.Filter) {
	fmt.Fprintf(a.env.Err, "  replayer plan %s%s --force-version --reason 'why the older version is right' -f forced.jsonl\n", a.dlqText(), flagsOf(f))
}

// reopened returns the filter that selects dead letters after they changed from superseded to pending.
func reopened(f deadletters.Filter) deadletters.Filter {
	if i := slices.Index(f.Statuses, deadletters.Superseded); i >= 0 {
		f.Statuses = slices.Delete(slices.Clone(f.Statuses), i, i+1)
		if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, deadletters.Pending) {
			f.Statuses = append(f.Statuses, deadletters.Pending)
		}
	}
	return f
}

// nothingToReplay ends a plan without dead letters. Its JSON has the same form as the JSON of a plan with dead letters.
func (a *app) nothingToReplay(p *plan.Plan, executes bool) error {
	var err error
	switch {
	case a.output == "table":
		a.adviseForce(p)
	case executes:
		err = a.writeResult(p, replay.Result{ReplayID: p.ID})
	default:
		err = a.writePlan(p, false)
	}
	if err != nil {
		return err
	}
	return exit(cli.ExitNothing, errors.New("no dead letter that could be replayed matches"))
}

// set gives a flag another value for all commands that are printed afterwards.
func (a *app) set(name string, values ...string) { cli.SetFlag(a.cmd, name, values...) }

// givenFlags returns flags with the values that the command line gave them, for a printed command.
func (a *app) givenFlags(names ...string) string { return cli.GivenFlags(a.cmd, names...) }
