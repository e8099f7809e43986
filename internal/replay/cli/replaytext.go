package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

type plannedJSON struct {
	ID          string          `json:"id"`
	DLQ         positionJSON    `json:"dlq"`
	ContentHash string          `json:"content_hash"`
	Group       string          `json:"group"`
	Died        string          `json:"died"`
	Action      replay.Action   `json:"action"`
	DuplicateOf string          `json:"duplicate_of,omitempty"`
	Why         string          `json:"why,omitempty"`
	Today       *replay.Verdict `json:"today,omitempty"`
}

type planJSON struct {
	Pipeline string             `json:"pipeline"`
	Source   string             `json:"source"`
	DLQ      string             `json:"dlq"`
	MadeAt   string             `json:"made_at"`
	Filter   deadletters.Filter `json:"filter"`
	Summary  replay.Summary     `json:"summary"`
	Outlook  []replay.Outcome   `json:"outlook"`
	Letters  []plannedJSON      `json:"letters"`
}

func plannedOf(l *replay.Planned) plannedJSON {
	out := plannedJSON{
		ID: l.ID, DLQ: positionOf(l.DLQ), ContentHash: l.ContentHash, Group: l.Group, Died: l.Code,
		Action: l.Action, DuplicateOf: l.DuplicateOf, Why: l.Why,
	}
	if l.Action != replay.Leave {
		out.Today = &l.Verdict
	}
	return out
}

// writePlan prints a dry run: the groups as a table, the whole plan as one JSON object, or one
// line of JSON for each letter.
func (a *app) writePlan(p *replay.Plan) error {
	defer func() { fmt.Fprintln(a.env.Err, summaryText(p)) }()
	switch a.output {
	case "table":
		return a.outlookTable(p)
	case "ndjson":
		e := a.emitter()
		for i := range p.Letters {
			if err := e.emit(plannedOf(&p.Letters[i])); err != nil {
				return err
			}
		}
		return nil
	}
	out := planJSON{
		Pipeline: p.Pipeline, Source: p.Source, DLQ: p.DLQ, MadeAt: timeText(p.MadeAt), Filter: p.Filter,
		Summary: p.Summary(), Outlook: p.Outlook(), Letters: []plannedJSON{},
	}
	for i := range p.Letters {
		out.Letters = append(out.Letters, plannedOf(&p.Letters[i]))
	}
	return a.object(out)
}

func (a *app) outlookTable(p *replay.Plan) error {
	t := table{
		columns: []column{
			{title: "COUNT", right: true}, {title: "GROUP"}, {title: "DIED OF"}, {title: "PLAN"}, {title: "TODAY"},
			{title: "EXAMPLE"}, {title: "WHY"},
		},
		paint: func(i int, cell string) string {
			switch {
			case i == 4 && cell == "passes":
				return green
			case i == 4 && cell != "-":
				return red
			}
			return ""
		},
	}
	for _, o := range p.Outlook() {
		t.add(strconv.Itoa(o.Count), o.Group, orDash(o.Died), string(o.Action), today(o), o.Example, o.Message)
	}
	return t.write(a.env.Out, a.env)
}

func today(o replay.Outcome) string {
	switch {
	case o.Action == replay.Leave:
		return "-"
	case o.Passes:
		return "passes"
	}
	return "fails: " + o.Code
}

func summaryText(p *replay.Plan) string {
	s := p.Summary()
	return fmt.Sprintf("%s of %s selected: %d to put back into %s (today's transform passes %d, refuses %d; remote steps not tried), %s, %d left as they are",
		count(s.Selected, "letter"), p.DLQ, s.Reinject, p.Source, s.WouldPass, s.WouldFail, count(s.Duplicates, "duplicate"), s.Left)
}

// writeResult prints what a replay did.
func (a *app) writeResult(p *replay.Plan, r replay.Result) error {
	if a.output != "table" {
		if r.Skipped == nil {
			r.Skipped = []replay.Skip{}
		}
		return a.object(r)
	}
	if len(r.Skipped) > 0 {
		t := table{columns: []column{{title: "SKIPPED"}, {title: "WHY"}}}
		for _, s := range r.Skipped {
			t.add(s.ID, s.Why)
		}
		if err := t.write(a.env.Out, a.env); err != nil {
			return err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "replay         %s\n", r.ReplayID)
	fmt.Fprintf(&b, "attempted      %d\n", r.Attempted)
	fmt.Fprintf(&b, "put back       %d into %s\n", r.Reinjected, p.Source)
	fmt.Fprintf(&b, "duplicates     %d\n", r.Duplicates)
	fmt.Fprintf(&b, "skipped        %d\n", len(r.Skipped))
	if _, err := fmt.Fprint(a.env.Out, b.String()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.env.Err, "The consumer closes each letter when it has finished it: replayer groups -c %s --status replaying\n", quoted(a.configFile))
	return err
}
