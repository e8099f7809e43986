package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// writePlan prints a dry run: the groups as a table, the whole plan as one JSON object, or one line of JSON per dead
// letter. includingFailing is true if dead letters that will fail again are replayed, too.
func (a *app) writePlan(p *plan.Plan, includingFailing bool) error {
	defer func() {
		fmt.Fprintln(a.env.Err, summaryText(p, includingFailing))
		a.warnForced(p)
		a.adviseForce(p)
	}()
	switch a.output {
	case "table":
		return a.outlookTable(p, includingFailing)
	case "ndjson":
		e := a.emitter()
		for l, err := range p.All() {
			if err != nil {
				return err
			}
			if err := e.Emit(dlq.NewPlannedJSON(p.DLQ, l)); err != nil {
				return err
			}
		}
		return nil
	}
	out, err := dlq.NewPlanJSON(p)
	if err != nil {
		return err
	}
	return a.object(out)
}

func (a *app) outlookTable(p *plan.Plan, includingFailing bool) error {
	t := cli.Table{
		Columns: []cli.Column{
			{Title: "COUNT", Right: true}, {Title: "GROUP"}, {Title: "DIED OF"}, {Title: "PLAN"}, {Title: "TODAY"},
			{Title: "EXAMPLE", Below: true}, {Title: "WHY", Below: true},
		},
		Style: func(i int, cell string) cli.Style {
			switch {
			case i == 4 && cell == "passes":
				return cli.Green
			case i == 4 && cell != "-":
				return cli.Red
			}
			return cli.Plain
		},
	}
	for _, o := range p.Outlook() {
		t.Add(strconv.Itoa(o.Count), o.Group, orDash(o.Died), string(actionOf(p, o, includingFailing)), today(o), o.Example, cmp.Or(o.Message, becomes(o)))
	}
	return a.print(t.Text(a.screen()))
}

// actionOf returns what the replay does with a group of dead letters. It leaves those that today's transform refuses,
// unless they leave the pipeline.
func actionOf(p *plan.Plan, o plan.Outcome, includingFailing bool) plan.Action {
	if o.Action == plan.Reinject && o.Fails() && !includingFailing && p.To == "" {
		return plan.Leave
	}
	return o.Action
}

// becomes describes what is unusual about a group of replayed dead letters: their order, and the changes of a rewrite
// with an example.
func becomes(o plan.Outcome) string {
	if o.Reversed {
		o.Reversed = false
		return strings.TrimSuffix("behind a younger dead letter of the same key; "+becomes(o), "; ")
	}
	switch {
	case o.Shape == "":
		return ""
	case o.Change == "":
		return "changes " + o.Shape
	}
	return "changes " + o.Shape + ", for example " + o.Change
}

func today(o plan.Outcome) string {
	switch {
	case o.Action == plan.Leave:
		return "-"
	case o.Overwrites:
		return "overwrites newer data"
	case o.Unjudged:
		return "-"
	case o.Superseded:
		return "superseded"
	case o.Passes:
		return "passes"
	}
	return strings.TrimSuffix("fails: "+o.Code, ": ")
}

// nothingPasses returns advice if today's transform refuses every dead letter of a plan, otherwise "".
func (a *app) nothingPasses(p *plan.Plan, includingFailing bool) string {
	if s := p.Summary(); s.WouldFail == 0 || p.Back(includingFailing) > 0 {
		return ""
	}
	return fmt.Sprintf(" Today's transform refuses %s: fix the cause first, or see --including-failing.", cli.Count(p.Summary().WouldFail, "dead letter"))
}

func summaryText(p *plan.Plan, includingFailing bool) string {
	s := p.Summary()
	if p.Alone() {
		into := ""
		if s.Reinject > 0 {
			into = " (" + targetsText(p) + ")"
		}
		return fmt.Sprintf("%s of %s selected: %d to put back%s, %s, %d left as they are", cli.Count(s.Selected, "dead letter"), p.DLQ, s.Reinject, into, cli.Count(s.Duplicates, "duplicate"), s.Left) + writtenWith(p) + putBackBefore(s) + risks(p)
	}
	back, refused := p.Back(includingFailing), ""
	if s.WouldFail > 0 && back < s.Reinject {
		refused = ", which are left without --including-failing"
	}
	newer := ""
	if s.Superseded > 0 {
		newer = fmt.Sprintf(", %d of them superseded by newer events", s.Superseded)
	}
	if s.Overwrites > 0 {
		newer += fmt.Sprintf(", %d of them will overwrite newer data, forced", s.Overwrites)
	}
	if p.Doubt != "" {
		newer += fmt.Sprintf(" (it is not fully known which of them newer events have overtaken: %s)", p.Doubt)
	}
	return fmt.Sprintf("%s of %s selected: %d to put back into %s (today's transform passes %d%s, refuses %d%s; remote steps and the sink not tried), %s, %d left for other reasons",
		cli.Count(s.Selected, "dead letter"), p.DLQ, back, p.Destination(), s.WouldPass, newer, s.WouldFail, refused, cli.Count(s.Duplicates, "duplicate"), s.Left) + putBackBefore(s)
}

// writtenWith returns a line about the registry's schema that a plan writes values with.
func writtenWith(p *plan.Plan) string {
	if p.Rewrite.Subject == "" {
		return ""
	}
	return fmt.Sprintf("\nwritten with schema %d, the latest of subject %s", p.Rewrite.SchemaID, cli.CleanText(p.Rewrite.Subject, cli.OneLine))
}

// putBackBefore returns a warning of dead letters that a replay would send a second time.
func putBackBefore(s plan.Summary) string {
	if s.Reopened == 0 {
		return ""
	}
	return fmt.Sprintf("\nwarning: %d of those to put back were put back before, and reopened since: unless they died again in between, this sends them a second time", s.Reopened)
}

// risks returns warnings about the dead letters of a DLQ without a pipeline, one per line.
func risks(p *plan.Plan) (text string) {
	if n := p.Summary().Reversed; n > 0 {
		text += fmt.Sprintf("\nwarning: out of order: %s, each behind a younger one of the same key, which goes or went back before it", cli.Count(n, "dead letter"))
	}
	if s := p.Summary(); s.Absent > 0 {
		text += fmt.Sprintf("\nwarning: an expression reads %s, which %s not have: it is null there. If that is intended, write ?? or ?.", cli.CleanText(s.AbsentFields, cli.OneLine), doNot(s.Absent))
	}
	if p.Doubt != "" {
		text += "\nwarning: it is unknown whether newer values would be hidden, and whether every record fits: " + cli.CleanText(p.Doubt, cli.OneLine)
	}
	return text
}

// doNot returns the subject and verb of a sentence about values that lack a property.
func doNot(values int) string {
	if values == 1 {
		return "1 value does"
	}
	return fmt.Sprintf("%d values do", values)
}

// warnForced warns that a plan overwrites newer data.
func (a *app) warnForced(p *plan.Plan) {
	if p.Force == "" {
		return
	}
	n := p.Summary().Overwrites
	text := fmt.Sprintf("WARNING: --force-version: will overwrite newer data: %d, forced.", n)
	if n == 0 {
		text = "WARNING: --force-version: no newer data is known that would be overwritten; data that arrives before the dead letters will be."
	}
	text += " The only way back is to send the newer events again. Reason: " + cli.CleanText(p.Force, cli.OneLine)
	fmt.Fprintln(a.env.Err, a.screen().Paint(cli.Red, text))
}

// writeResult prints the result of a replay.
func (a *app) writeResult(p *plan.Plan, r replay.Result) error {
	r.Untouched = listed(r.Untouched)
	if a.output != "table" {
		return a.object(r)
	}
	var b figures
	b.line("replay", "%s", r.ReplayID)
	b.line("selected", "%d", r.Attempted)
	if p.Alone() && p.To == "" {
		b.line("put back", "%d", r.Reinjected)
	} else {
		b.line("put back", "%d into %s", r.Reinjected, p.Destination())
	}
	if r.Already > 0 {
		b.line("before", "%d put back or closed by an earlier call of this replay", r.Already)
	}
	b.line("duplicates", "%d", r.Duplicates)
	b.line("skipped", "%d", r.Left)
	if r.NotReached > 0 {
		b.line("not reached", "%d: the replay stopped before them", r.NotReached)
	}
	switch {
	case r.Outcome == nil:
	case p.Alone():
		if r.Outcome.Consumed > 0 {
			b.line("consumed", "%d: the group committed beyond them, and they did not die again within the grace", r.Outcome.Consumed)
		}
		b.line("died again", "%d", r.Outcome.FailedAgain)
	default:
		b.outcome(r.Outcome)
	}
	if err := a.print(a.leftText(r.LeftBy) + b.String()); err != nil {
		return err
	}
	if r.Outcome != nil || p.To != "" || p.Alone() || r.Reinjected+r.Already == 0 { // nothing to wait for
		return nil
	}
	_, err := fmt.Fprintf(a.env.Err, "The consumer closes each dead letter when it has finished it: replayer replays %s %s --wait\n", a.dlqText(), r.ReplayID)
	return err
}

// outcome adds the consumer's outcomes of the replayed dead letters.
func (f *figures) outcome(o *states.Counts) {
	f.line("reprocessed", "%d", o.Reprocessed)
	f.line("failed again", "%d", o.FailedAgain)
	if o.Escalated > 0 {
		f.line("escalated", "%d of them", o.Escalated)
	}
	if o.Closed > 0 {
		f.line("closed", "%d (duplicate, superseded or filtered)", o.Closed)
	}
	if o.UnderWay > 0 {
		f.line("under way", "%d", o.UnderWay)
	}
}

// leftText returns a table of the dead letters that were not changed, by reason. The JSON also lists the first thousand
// of each reason.
func (a *app) leftText(left []replay.LeftBy) string {
	if len(left) == 0 {
		return ""
	}
	t := cli.Table{Columns: []cli.Column{{Title: "SKIPPED", Right: true}, {Title: "EXAMPLE"}, {Title: "WHY", Below: true}}}
	for _, l := range left {
		t.Add(strconv.Itoa(l.Count), orDash(l.Example), l.Why)
	}
	return t.Text(a.screen())
}
