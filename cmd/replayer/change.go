package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// change is a command that only changes the status of dead letters.
type change struct {
	verb    replay.Verb
	lost    bool // reopen replaying dead letters whose record no consumer will finish
	putBack bool // also reopen dead letters that were replayed already

	sel     selection
	create  createFlags
	consent consentFlags
	count   countFlags
}

const (
	lostFlag    = "lost"
	putBackFlag = "including-put-back"
)

// changes returns the commands that only change the status of dead letters.
func (a *app) changes() []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct {
		verb        replay.Verb
		short, long string
	}{
		{replay.Discard, "Discard dead letters (dry run without --execute)",
			`Discard the selected pending dead letters; with --status escalated, or by their ids, escalated ones. They stay in the DLQ, and replayer reopen reverses this until they are pruned.`},
		{replay.Escalate, "Mark dead letters for a person's decision (dry run without --execute)",
			`Mark the selected pending dead letters as escalated: no replay takes them unless --status escalated or their ids select them.
replayer reopen makes them pending again.`},
		{replay.Reopen, "Make dead letters pending again (dry run without --execute)",
			`Make the selected discarded or escalated dead letters pending again, and with --status superseded, or by their ids, those
that the consumer closed because newer data took effect. A plain replay closes the latter again: to let the older
version win, use replayer plan or replayer replay with --force-version. With --lost, those that are replaying although the consumer
has finished all records: their replays were deleted with their topic, or by retention, before they were read.
Dead letters that were put back where nobody reports success, or sent to another topic, and are not known to have died again are
left as they are without --including-put-back: another replay would send them a second time.`},
	} {
		f := change{verb: c.verb}
		cmd := &cobra.Command{
			Use: string(c.verb), Short: c.short, Long: c.long,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.runChange(cmd.Context(), &f) },
		}
		f.sel.register(cmd)
		a.dlqFlags.registerOwn(cmd)
		f.create.register(cmd)
		f.consent.register(cmd)
		f.count.register(cmd)
		if c.verb == replay.Reopen {
			cmd.Flags().BoolVar(&f.lost, lostFlag, false, "those whose replay is lost: still replaying, although the consumer has no lag and nothing waits")
			cmd.Flags().BoolVar(&f.putBack, putBackFlag, false, "also those that were put back, or sent to another topic, and are not known to have died again: a replay sends them a second time")
			cmd.MarkFlagsMutuallyExclusive(lostFlag, putBackFlag)
		}
		out = append(out, cmd)
	}
	return out
}

func (a *app) runChange(ctx context.Context, c *change) error {
	if c.lost && a.alone() {
		return cli.UsageError("--lost needs a pipeline: for this DLQ it is unknown who reads what was put back")
	}
	filter, err := a.filter(&c.sel)
	if err != nil {
		return err
	}
	if err := c.consent.check(); err != nil {
		return err
	}
	if err := c.count.check(filter, c.consent.execute && !c.lost); err != nil {
		return err
	}
	if !c.consent.execute {
		return a.previewChange(ctx, c, filter)
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	call := a.call(c.consent.reason)
	call.IncludingPutBack = c.putBack
	call.ContinueCommand = a.continueCommand(a.changing(c, filter, ""), c.consent.reason)
	confirm := func(letters int) error {
		if err := a.confirm(ctx, &c.count)(letters); err != nil {
			return err
		}
		return a.ensureStates(ctx, s, &c.create, a.executing(a.changing(c, filter, c.count.expectFlag(letters)), c.consent.reason))
	}
	var result replay.ChangeResult
	if c.lost {
		result, err = s.ReopenLost(ctx, filter, call, confirm)
	} else {
		result, err = s.Change(ctx, filter, c.verb, call, confirm)
	}
	ending := a.changed(string(c.verb), call, result, err)
	a.adviseReopened(filter, result)
	return ending
}

// previewChange shows the groups that would be changed.
func (a *app) previewChange(ctx context.Context, c *change, filter deadletters.Filter) error {
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	var selected deadletters.Filter
	if c.lost {
		selected, err = s.Replays().LostSelection(ctx, filter)
	} else {
		selected, err = c.verb.Selection(filter)
	}
	if err != nil {
		return err
	}
	groups, err := s.Chosen(ctx, selected)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return nothing()
	}
	var before replay.PutBack
	if c.verb == replay.Reopen && !c.lost {
		if before, err = s.Replays().PutBack(ctx, selected); err != nil {
			return err
		}
	}
	letters := 0
	for i, g := range groups {
		letters += g.Count
		groups[i].PutBack = before.Groups[g.ID]
	}
	if err := a.writeGroups(groups); err != nil {
		return err
	}
	a.warnPutBack(c, before.Topics)
	return a.endDryRun(a.changing(c, filter, c.count.expectFlag(letters)), c.consent.reason)
}

// warnPutBack warns of dead letters that a replay would send a second time.
func (a *app) warnPutBack(c *change, topics map[string]int) {
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		text := fmt.Sprintf("%d of these were already put back into %s, and none of them is known to have died again: after reopening, a replay sends them a second time.",
			topics[topic], cli.CleanText(topic, cli.OneLine))
		if !c.putBack {
			text += " Without --including-put-back they are left as they are."
		}
		fmt.Fprintln(a.env.Err, text)
	}
}

// changing returns the command of a change. --lost selects dead letters and therefore needs no --all.
func (a *app) changing(c *change, filter deadletters.Filter, expect string) string {
	all := allFlag(filter)
	if c.lost {
		all = ""
	}
	return fmt.Sprintf("replayer %s %s%s%s%s%s", c.verb, a.dlqText(), flagsOf(filter), a.givenFlags(lostFlag, putBackFlag), all, expect)
}

// writeChange prints the result of a change, or of its dry run.
func (a *app) writeChange(done string, r replay.ChangeResult, dry bool) error {
	var b figures
	if r.ID != "" { // a dry run has none
		b.line(done, "%s", r.ID)
	}
	b.line("selected", "%d", r.Selected)
	changed, skipped := "changed", "skipped"
	if dry {
		changed, skipped = "would change", "would skip"
	}
	b.line(changed, "%d", r.Changed)
	b.line(skipped, "%d", r.Left)
	r.Untouched = listed(r.Untouched)
	return a.answer(r, a.leftText(r.LeftBy)+b.String())
}

// listed replaces nil lists by empty ones, so that their JSON is a list.
func listed(u replay.Untouched) replay.Untouched {
	u.Skipped, u.LeftBy = append([]replay.Skip{}, u.Skipped...), append([]replay.LeftBy{}, u.LeftBy...)
	return u
}

// changeEnding returns the error that a change ends with.
func changeEnding(r replay.ChangeResult, err error) error {
	if err == nil && r.Selected == 0 {
		return nothing()
	}
	return ending(replay.Result{Transactions: r.Transactions, Untouched: r.Untouched}, err)
}

func (a *app) undo() *cobra.Command {
	var consent consentFlags
	var bulk countFlags
	cmd := &cobra.Command{
		Use:   "undo OPERATION",
		Short: "Undo one operation (dry run without --execute)",
		Long: `Restore what the dead letters of one discard, escalate, reopen, edit or undo had before it. Dead letters that were
changed since are left as they are, with the reason. Records that a replay sent cannot be called back, and pruned
dead letters are gone. Each change prints the id of its operation; replayer audit lists them.`,
		Args: oneArgument("undo takes the id of one operation (each change prints it, replayer audit lists them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runUndo(cmd.Context(), args[0], &consent, &bulk)
		},
	}
	consent.register(cmd)
	bulk.registerExpect(cmd)
	a.dlqFlags.registerOwn(cmd)
	return cmd
}

func (a *app) runUndo(ctx context.Context, operation string, consent *consentFlags, bulk *countFlags) error {
	if err := consent.check(); err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	if consent.execute {
		call := a.call(consent.reason)
		call.ContinueCommand = a.continueCommand(fmt.Sprintf("replayer undo %s %s", a.dlqText(), cli.ShellWord(operation)), consent.reason)
		result, err := s.Undo(ctx, operation, call, a.confirm(ctx, bulk))
		return a.changed("undo", call, result, err)
	}
	result, err := s.PreviewUndo(ctx, operation)
	if err != nil {
		return err
	}
	if err := a.writeChange("would undo", result, true); err != nil {
		return err
	}
	if result.Changed == 0 {
		return exit(cli.ExitNothing, fmt.Errorf("no dead letter of %s can be reversed", cli.CleanText(operation, cli.OneLine)))
	}
	return a.endDryRun(fmt.Sprintf("replayer undo %s %s%s", a.dlqText(), cli.ShellWord(operation), bulk.expectFlag(result.Selected)), consent.reason)
}

// changed prints the result of a change and the command that undoes it, and returns the error that the command ends
// with.
func (a *app) changed(done string, call operation.Call, r replay.ChangeResult, err error) error {
	a.printContinueCommand(err, call.ContinueCommand(r.Selected))
	if err != nil && r.Transactions == 0 {
		return changeEnding(r, err)
	}
	if written := a.writeChange(done, r, false); written != nil && err == nil {
		err = written
	}
	if r.Changed > 0 && a.output == "table" {
		fmt.Fprintf(a.env.Err, "To undo it:\n  replayer undo %s %s%s --execute --reason 'why'\n", a.dlqText(), r.ID, expectFlag(r.Changed, false))
	}
	return changeEnding(r, err)
}
