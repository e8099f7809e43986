package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

// changes are the commands that only change the status of letters.
func (a *app) changes() []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct {
		verb        replay.Verb
		short, long string
	}{
		{replay.Discard, "Give dead letters up (dry run without --execute)",
			`Give the selected pending dead letters up; with --status escalated, or by their ids, escalated ones. They stay in the DLQ, and replayer reopen takes it back, until they are pruned.`},
		{replay.Escalate, "Let a person decide about dead letters (dry run without --execute)",
			`Mark the selected pending dead letters as escalated: no replay takes them unless --status escalated or their ids say so.
replayer reopen makes them pending again.`},
		{replay.Reopen, "Make dead letters pending again (dry run without --execute)",
			`Make the selected discarded or escalated dead letters pending again, and with --status superseded, or by their ids, those
that the consumer closed since newer data took effect. A plain replay closes the latter once more: what lets the older
version win is replayer plan or replayer replay with --force-version. With --lost, those that are replaying though the consumer
has finished all that there is: their replays were deleted with their topic, or by retention, before they were read.
What was put back where nobody reports success, or sent to another topic, and is not known to have died again is left as it is
without --including-put-back: another replay would send it a second time.`},
	} {
		var sel selection
		var creating creating
		var consent consent
		var bulk bulk
		var lost, putBack bool
		cmd := &cobra.Command{
			Use: string(c.verb), Short: c.short, Long: c.long, Args: a.fileArgument,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.runChange(cmd.Context(), &change{verb: c.verb, lost: lost, putBack: putBack, creating: creating}, &sel, &consent, &bulk)
			},
		}
		sel.register(cmd)
		a.named.registerIndex(cmd)
		a.named.registerDLQ(cmd)
		creating.register(cmd)
		consent.register(cmd)
		bulk.register(cmd)
		if c.verb == replay.Reopen {
			cmd.Flags().BoolVar(&lost, "lost", false, "those whose replay is lost: replaying, while nothing is unread and nothing waits")
			cmd.Flags().BoolVar(&putBack, "including-put-back", false, "also those that were put back, or sent to another topic, and are not known to have died again: a replay sends them a second time")
		}
		out = append(out, cmd)
	}
	return out
}

// change is one of those commands.
type change struct {
	verb    replay.Verb
	lost    bool // what is replaying, and will not be finished
	putBack bool // what was put back already, too

	creating creating
}

// selection is the filter of a dry run.
func (c *change) selection(ctx context.Context, s *replay.Service, f deadletters.Filter) (deadletters.Filter, error) {
	if !c.lost {
		return c.verb.Selection(f)
	}
	return s.LostSelection(ctx, f)
}

// do makes the change.
func (c *change) do(ctx context.Context, s *replay.Service, f deadletters.Filter, call replay.Call, confirm replay.Confirm) (replay.ChangeResult, error) {
	if c.lost {
		return s.ReopenLost(ctx, f, call, confirm)
	}
	return s.Change(ctx, f, c.verb, call, confirm)
}

// flags writes what the command says besides the filter.
func (c *change) flags() string {
	switch {
	case c.lost:
		return " --lost"
	case c.putBack:
		return " --including-put-back"
	}
	return ""
}

// bulkFlags writes what a change of so many says: --lost is a choice, which needs no --all.
func (c *change) bulkFlags(b *bulk, f deadletters.Filter, letters int) string {
	if c.lost {
		return b.expectFlag(letters)
	}
	return b.flags(f, letters)
}

func (a *app) runChange(ctx context.Context, c *change, sel *selection, consent *consent, bulk *bulk) error {
	if c.lost && c.putBack {
		return usage("--lost and --including-put-back contradict each other: leave one of them out")
	}
	if c.lost && a.alone(&a.named) {
		return usage("--lost needs a pipeline: of this DLQ nobody is known who reads what was put back")
	}
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	if err := consent.check(); err != nil {
		return err
	}
	if err := bulk.check(filter, consent.execute && !c.lost); err != nil {
		return err
	}
	if !consent.execute {
		return a.previewChange(ctx, c, filter, bulk, consent.reason)
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	call := a.call(consent.reason)
	call.IncludingPutBack = c.putBack
	all := ""
	if !c.lost {
		all = allFlag(filter)
	}
	call.GoOn = a.goesOn(fmt.Sprintf("replayer %s %s%s%s%s", c.verb, a.place(), flagsOf(filter), c.flags(), all), consent.reason)
	result, err := c.do(ctx, s, filter, call, func(letters int) error {
		if err := a.confirm(ctx, bulk)(letters); err != nil {
			return err
		}
		return a.ownTopics(ctx, s, &c.creating, a.changing(c, filter, bulk, letters)+again("actor", a.by)+" --execute --reason "+a.why(consent.reason))
	})
	ending := a.changed(string(c.verb), call, result, err)
	a.adviseReopened(filter, result)
	return ending
}

// previewChange shows the groups that would be changed.
func (a *app) previewChange(ctx context.Context, c *change, filter deadletters.Filter, bulk *bulk, reason string) error {
	s, err := a.browse(ctx, &a.named)
	if err != nil {
		return err
	}
	defer s.Close()
	selected, err := c.selection(ctx, s.Replays(), filter)
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
	before, err := c.putBackOf(ctx, s.Replays(), selected)
	if err != nil {
		return err
	}
	for i := range groups {
		groups[i].PutBack = before.Groups[groups[i].ID]
	}
	if err := a.writeGroups(&a.named, groups); err != nil {
		return err
	}
	letters := 0
	for _, g := range groups {
		letters += g.Count
	}
	a.warnPutBack(c, before.Topics)
	return a.refused(a.changing(c, filter, bulk, letters), reason)
}

// putBackOf counts the dead letters that are to be reopened though they were put back already.
func (c *change) putBackOf(ctx context.Context, s *replay.Service, selected deadletters.Filter) (replay.PutBack, error) {
	if c.verb != replay.Reopen || c.lost {
		return replay.PutBack{}, nil
	}
	return s.PutBack(ctx, selected)
}

// warnPutBack says what would go back a second time.
func (a *app) warnPutBack(c *change, topics map[string]int) {
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		text := fmt.Sprintf("%d of these were put back into %s already, and none of them is known to have died again: after reopening, a replay sends them a second time.",
			topics[topic], cli.CleanText(topic, cli.OneLine))
		if !c.putBack {
			text += " They are left as they are without --including-put-back."
		}
		fmt.Fprintln(a.env.Err, text)
	}
}

// changing is the command that changes so many letters.
func (a *app) changing(c *change, filter deadletters.Filter, bulk *bulk, letters int) string {
	return fmt.Sprintf("replayer %s %s%s%s%s", c.verb, a.place(), flagsOf(filter), c.flags(), c.bulkFlags(bulk, filter, letters))
}

// writeChange prints what a change did, or (dry) would do.
func (a *app) writeChange(done string, r replay.ChangeResult, dry bool) error {
	if a.output != "table" {
		if r.Skipped == nil {
			r.Skipped = []replay.Skip{}
		}
		if r.LeftBy == nil {
			r.LeftBy = []replay.LeftBy{}
		}
		return a.object(r)
	}
	if err := a.leftTable(r.LeftBy); err != nil {
		return err
	}
	var b strings.Builder
	if r.ID != "" { // a dry run has none
		fmt.Fprintf(&b, "%-14s %s\n", done, r.ID)
	}
	changed, skipped := "changed", "skipped"
	if dry {
		changed, skipped = "would change", "would skip"
	}
	fmt.Fprintf(&b, "%-14s %d\n%-14s %d\n%-14s %d\n", "selected", r.Selected, changed, r.Changed, skipped, r.Left)
	_, err := fmt.Fprint(a.env.Out, b.String())
	return err
}

// changeEnding gives the exit code of a change.
func changeEnding(r replay.ChangeResult, err error) error {
	if err == nil && r.Selected == 0 {
		return nothing()
	}
	return ending(replay.Result{Transactions: r.Transactions, Untouched: r.Untouched}, err)
}
