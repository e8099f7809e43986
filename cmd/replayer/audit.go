package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// auditFlags holds the flags of the audit command.
type auditFlags struct {
	filter     audit.Filter
	since      string
	key        string
	operations bool // print a line per command instead of one per event
}

func (a *app) audit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what with dead letters, when and why",
		Long: `Show what operators did: each command, with its reason, filter and plan, each dead letter with its
content hash before and after, and who paused and resumed the pipeline. With --dead-letter, also what the
consumer did with its record, from the first attempt on; so do --feature, --source and --key for
records that may never have died. Deliveries at the first attempt are recorded only with audit: all.

With --operations, show one line for each command instead, with how many dead letters it changed.

consumer verify audit checks whether an event was changed, removed, added or moved.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runAudit(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.filter.DeadLetter, "dead-letter", "", "only events about this dead letter")
	flags.StringVar(&f.filter.Feature, "feature", "", "only events about the feature with this id")
	flags.StringVar(&f.filter.Source, "source", "", "only events about the record that first appeared at TOPIC/PARTITION/OFFSET")
	flags.StringVar(&f.key, "key", "", "only events about records with this Kafka key")
	flags.StringVar(&f.filter.Operation, "operation", "", "only events of this replay or other operation")
	flags.StringVar(&f.filter.By, "actor", "", "only the actions of this person")
	flags.StringVar(&f.since, "since", "", "only events at or after this: a time, a date, or an age such as 36h or 7d")
	flags.BoolVar(&f.filter.All, "all", false, "include the consumer's decisions")
	flags.BoolVar(&f.operations, "operations", false, "one line for each command, with how many dead letters it changed")
	a.dlqFlags.registerDLQ(cmd)
	return cmd
}

func (a *app) runAudit(ctx context.Context, f *auditFlags) error {
	if f.operations && f.filter.All {
		return cli.UsageError("--operations shows what operators did: leave out --all")
	}
	if f.since != "" {
		since, err := deadletters.ResolveTime(f.since, a.env.Now())
		if err != nil {
			return cli.UsageError("--since: %w", err)
		}
		f.filter.Since = since
	}
	if f.filter.Source != "" {
		if _, err := header.ParsePosition(f.filter.Source); err != nil {
			return cli.UsageError("--source: %w; write it as topic/partition/offset, such as features/3/1042", err)
		}
	}
	if f.key != "" {
		f.filter.Key = []byte(f.key)
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	if f.operations {
		return a.auditActions(ctx, s, f.filter)
	}
	if a.output == "table" {
		return a.auditTable(ctx, s, f.filter)
	}
	e := a.emitter()
	err = s.AuditEvents(ctx, f.filter, func(event audit.Event) error { return e.Emit(event) })
	if err != nil {
		return err
	}
	return e.End(noEvent())
}

func noEvent() error { return exit(cli.ExitNothing, errors.New("no audit event matches")) }

func (a *app) auditTable(ctx context.Context, s *replay.Service, f audit.Filter) error {
	var events []audit.Event
	more := 0
	err := s.AuditEvents(ctx, f, func(e audit.Event) error {
		if len(events) == cli.MaxRows {
			more++
			return nil
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return noEvent()
	}
	slices.SortStableFunc(events, func(x, y audit.Event) int {
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Place.Seq, y.Place.Seq))
	})
	t := cli.Table{Columns: []cli.Column{
		{Title: "TIME"}, {Title: "DECISION"}, {Title: "WHO"}, {Title: "DEAD LETTER"}, {Title: "OPERATION", Below: true}, {Title: "REASON", Below: true}, {Title: "WHAT", Below: true},
	}}
	for _, e := range events {
		what := e.Message
		if e.Before != e.After {
			what = e.Before + " -> " + e.After + "; " + what
		}
		if e.Filter != "" {
			what += ", filter " + e.Filter
		}
		if e.Plan != "" && e.Decision == audit.Operation {
			what += ", plan " + e.Plan
		}
		t.Add(e.Time.UTC().Format("2006-01-02 15:04:05"), string(e.Decision), orDash(e.Who()), orDash(e.DeadLetter), orDash(e.RunID), orDash(e.Reason), what)
	}
	t.Drop(more)
	fmt.Fprint(a.env.Err, t.Dropped())
	return a.print(t.Text(a.screen()))
}

// auditActions prints one line for each command of an operator.
func (a *app) auditActions(ctx context.Context, s *replay.Service, f audit.Filter) error {
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
		if err := e.Emit(act); err != nil {
			return err
		}
	}
	return e.End(nil)
}

func (a *app) actionTable(actions []audit.Action) error {
	t := cli.Table{Columns: []cli.Column{
		{Title: "BEGAN"}, {Title: "WHO"}, {Title: "OPERATION"}, {Title: "DONE", Below: true}, {Title: "REASON", Below: true}, {Title: "WHAT", Below: true},
	}}
	for _, act := range actions {
		t.Add(act.Began.UTC().Format("2006-01-02 15:04:05"), audit.Who(act.By, act.User), orDash(act.Operation), orDash(done(act)), orDash(act.Reason), orDash(purpose(act)))
	}
	fmt.Fprint(a.env.Err, t.Dropped())
	return a.print(t.Text(a.screen()))
}

// purpose returns the message of an action and the progress of the watched consumer group.
func purpose(act audit.Action) string {
	if act.Watched == "" || act.Watched == act.What {
		return act.What
	}
	return act.What + "; " + act.Watched
}

// done returns the numbers of dead letters that an action changed, the largest first: "4800 replayed, 2 edited".
func done(act audit.Action) string {
	var parts []string
	for _, kind := range act.Kinds() {
		parts = append(parts, fmt.Sprintf("%d %s", act.Done[kind], strings.ReplaceAll(string(kind), "_", " ")))
	}
	return strings.Join(parts, ", ")
}
