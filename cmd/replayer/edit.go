package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

// editFlags holds the flags of the edit command.
type editFlags struct {
	sel     selection
	consent consentFlags
	count   countFlags
	rewrite rewriteFlags
	from    string
	show    int
}

func (a *app) edit() *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use:   "edit [ID…]",
		Args:  cobra.ArbitraryArgs,
		Short: "Change the bytes of dead letters (dry run without --execute)",
		Long: `Change the content of the selected pending dead letters, one or a whole group: by assignments, a JSON
Patch (RFC 6902), a Merge Patch (RFC 7396), expressions, or a program. Everything else keeps its bytes. An Avro dead letter is
edited in Avro's JSON encoding and written again with its own schema.

The original stays in the DLQ; the edited dead letter follows it under the same id, and a replay puts back the
edited one. A dead letter that was edited before can be edited only from the bytes that --from names.

The DLQ of other software stays unchanged: replayer replay changes its dead letters on the way back, with the same flags.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sel.IDs = append(f.sel.IDs, args...)
			return a.runEdit(cmd.Context(), &f)
		},
	}
	f.sel.register(cmd)
	f.consent.register(cmd)
	f.count.register(cmd)
	a.dlqFlags.registerOwn(cmd)
	f.rewrite.register(cmd, "What they become")
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "content hash of the bytes that the edit starts from, or latest (default: the original)")
	flags.IntVar(&f.show, "show", 5, "show the differences of this many dead letters in a table (json and ndjson have all)")
	return cmd
}

func (a *app) runEdit(ctx context.Context, f *editFlags) error {
	filter, err := a.filter(&f.sel)
	if err != nil {
		return err
	}
	if err := f.consent.check(); err != nil {
		return err
	}
	if err := f.count.check(filter, f.consent.execute); err != nil {
		return err
	}
	_, edit, err := a.read(&f.rewrite)
	if err != nil {
		return err
	}
	if edit == nil || !edit.Changes() {
		return cli.UsageError("name the change with --set, --expr, --patch, --merge or --filter")
	}
	if a.alone() {
		return cli.UsageError("edit does not write to the DLQ of other software; replay changes its dead letters on the way back (dry run without --execute):\n  replayer replay %s%s%s%s",
			a.dlqText(), flagsOf(filter), allFlag(filter), a.givenFlags(rewriteFlagNames()...))
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	o := replay.EditOptions{Rewrite: edit, From: f.from, Call: a.call(f.consent.reason), Confirm: a.confirm(ctx, &f.count)}
	if !f.consent.execute {
		return a.previewEdit(ctx, s, filter, o, f)
	}
	o.ContinueCommand = a.continueCommand(a.editing(filter, ""), f.consent.reason)
	result, err := s.Edit(ctx, filter, o)
	return a.changed("edit", o.Call, result, err)
}

// previewEdit shows the differences that an edit would make.
func (a *app) previewEdit(ctx context.Context, s *replay.Service, filter deadletters.Filter, o replay.EditOptions, f *editFlags) error {
	e := a.emitter()
	letters, fit, pass := 0, 0, 0
	err := s.PreviewEdit(ctx, filter, o, func(one replay.Edited) error {
		letters++
		if one.Why == "" {
			fit++
			if one.Today.Passes {
				pass++
			}
		}
		if a.output != "table" {
			return e.Emit(one)
		}
		if letters > f.show {
			return nil
		}
		_, err := fmt.Fprint(a.env.Out, a.differences(one))
		return err
	})
	if err != nil {
		return err
	}
	if a.output != "table" {
		if err := e.End(nil); err != nil {
			return err
		}
	}
	if letters == 0 {
		return nothing()
	}
	fmt.Fprintf(a.env.Err, "%s selected: %d can be edited this way, and today's transform would pass %d of them\n", cli.Count(letters, "dead letter"), fit, pass)
	if fit == 0 {
		return exit(cli.ExitNothing, errors.New("no dead letter can be edited this way"))
	}
	return a.endDryRun(a.editing(filter, f.count.expectFlag(letters)), f.consent.reason)
}

// editing returns the command of an edit.
func (a *app) editing(filter deadletters.Filter, expect string) string {
	return "replayer edit " + a.dlqText() + flagsOf(filter) + allFlag(filter) + expect + a.givenFlags(append(rewriteFlagNames(), "from")...)
}

const (
	changesShown = 100 // of one dead letter, in a table
	maxPath      = 400 // bytes of a path
)

// differences returns the text of the changes to one dead letter.
func (a *app) differences(e replay.Edited) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a.screen().Paint(cli.Bold, "dead letter "+cli.CleanText(e.ID, cli.OneLine)))
	if e.Why != "" {
		fmt.Fprintf(&b, "  left: %s\n", cli.CleanText(e.Why, cli.OneLine))
		return b.String()
	}
	for i, c := range e.Changes {
		if i == changesShown {
			fmt.Fprintf(&b, "  and %d more\n", len(e.Changes)-i+e.More)
			break
		}
		fmt.Fprintf(&b, "  %s\n", cli.CleanText(atMost(maxPath, cmp.Or(c.Path, "the whole value")), cli.OneLine))
		if c.Before != nil {
			fmt.Fprintf(&b, "  %s\n", a.screen().Paint(cli.Red, "- "+cli.CleanText(atMost(maxShown, string(c.Before)), cli.OneLine)))
		}
		if c.After != nil {
			fmt.Fprintf(&b, "  %s\n", a.screen().Paint(cli.Green, "+ "+cli.CleanText(atMost(maxShown, string(c.After)), cli.OneLine)))
		}
	}
	fmt.Fprintf(&b, "  %s -> %s\n  today's transform %s\n", e.Before, e.After, a.verdictText(*e.Today))
	return b.String()
}
