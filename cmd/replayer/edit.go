package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/patch"
)

// editFlags is what the edit command takes besides the filter.
type editFlags struct {
	sel          selection
	consent      consent
	bulk         bulk
	set          []string
	patch, merge string
	from         string
	show         int
}

func (a *app) edit() *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use:   "edit [ID…]",
		Short: "Change the bytes of dead letters (dry run without --execute)",
		Long: `Change the content of the selected pending dead letters, one or a whole group: by assignments, by a JSON
Patch (RFC 6902) or by a Merge Patch (RFC 7396). What is not named keeps its bytes. An Avro dead letter is
edited in Avro's JSON encoding and written again with its own schema.

The original stays in the DLQ; the edited dead letter lies behind it under the same id, and is what a replay
puts back. A dead letter that was edited before is only edited from the bytes that --from names.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sel.ids = append(f.sel.ids, args...)
			return a.runEdit(cmd.Context(), &f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.sel.register(cmd)
	f.consent.register(cmd)
	f.bulk.register(cmd)
	a.named.registerIndex(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "field=value, for example properties.AREA=0 or /properties/AREA=0; the value is JSON, else a text")
	flags.StringVar(&f.patch, "patch", "", "a JSON Patch, as text or @FILE")
	flags.StringVar(&f.merge, "merge", "", "a Merge Patch, as text or @FILE")
	flags.StringVar(&f.from, "from", "", "content hash of the bytes that the edit starts from, or latest (default: the original)")
	flags.IntVar(&f.show, "show", 5, "show the differences of so many dead letters in a table (json and ndjson have all)")
	return cmd
}

// source reads the edit from its flags and files.
func (f *editFlags) source() (*patch.Edit, error) {
	s := patch.Source{Set: f.set}
	for _, part := range []struct {
		flag, text string
		to         *[]byte
	}{{"patch", f.patch, &s.Patch}, {"merge", f.merge, &s.Merge}} {
		name, isFile := strings.CutPrefix(part.text, "@")
		if !isFile {
			*part.to = []byte(part.text)
			continue
		}
		text, err := os.ReadFile(name) // #nosec G304 -- the operator names the file
		if err != nil {
			return nil, usage("--%s: %w", part.flag, err)
		}
		*part.to = text
	}
	e, err := patch.Parse(s)
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	return e, nil
}

func (a *app) runEdit(ctx context.Context, f *editFlags) error {
	filter, err := a.filter(&f.sel)
	if err != nil {
		return err
	}
	if err := f.consent.check(); err != nil {
		return err
	}
	if err := f.bulk.check(filter, f.consent.execute); err != nil {
		return err
	}
	edit, err := f.source()
	if err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	o := replay.EditOptions{Edit: edit, From: f.from, Call: a.call(f.consent.reason), Confirm: a.confirm(ctx, &f.bulk)}
	if !f.consent.execute {
		return a.previewEdit(ctx, s, filter, o, f)
	}
	o.GoOn = a.goesOn(fmt.Sprintf("replayer edit %s%s%s%s", a.place(), flagsOf(filter), allFlag(filter), f.flags()), f.consent.reason)
	result, err := s.Edit(ctx, filter, o)
	return a.changed("edit", o.Call, result, err)
}

// previewEdit shows what would be different.
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
			return e.emit(one)
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
		if err := e.end(); err != nil {
			return err
		}
	}
	if letters == 0 {
		return nothing()
	}
	fmt.Fprintf(a.env.Err, "%s selected: %d can be edited so, and today's transform would pass %d of them\n", count(letters, "dead letter"), fit, pass)
	if fit == 0 {
		return exit(cli.ExitNothing, errors.New("no dead letter can be edited so"))
	}
	return a.refused(fmt.Sprintf("replayer edit %s%s%s%s", a.place(), flagsOf(filter), f.bulk.flags(filter, letters), f.flags()), f.consent.reason)
}

// flags writes the edit as flags again.
func (f *editFlags) flags() string {
	var b strings.Builder
	for _, s := range f.set {
		b.WriteString(" --set " + quoted(s))
	}
	for _, flag := range [][2]string{{"patch", f.patch}, {"merge", f.merge}, {"from", f.from}} {
		if flag[1] != "" {
			b.WriteString(" --" + flag[0] + " " + quoted(flag[1]))
		}
	}
	return b.String()
}

const (
	changesShown = 100 // of one letter, to a person
	maxPath      = 400 // bytes of a path
)

// differences are one letter's, for people.
func (a *app) differences(e replay.Edited) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a.painted(bold, "dead letter "+cli.CleanText(e.ID, cli.OneLine)))
	if e.Why != "" {
		fmt.Fprintf(&b, "  left: %s\n", cli.CleanText(e.Why, cli.OneLine))
		return b.String()
	}
	for i, c := range e.Changes {
		if i == changesShown {
			fmt.Fprintf(&b, "  and %d more\n", len(e.Changes)-i+e.More)
			break
		}
		fmt.Fprintf(&b, "  %s\n", cli.CleanText(atMost(maxPath, c.Path), cli.OneLine))
		if c.Before != nil {
			fmt.Fprintf(&b, "  %s\n", a.painted(red, "- "+cli.CleanText(atMost(maxShown, string(c.Before)), cli.OneLine)))
		}
		if c.After != nil {
			fmt.Fprintf(&b, "  %s\n", a.painted(green, "+ "+cli.CleanText(atMost(maxShown, string(c.After)), cli.OneLine)))
		}
	}
	fmt.Fprintf(&b, "  %s -> %s\n  today's transform %s\n", e.Before, e.After, a.verdictText(*e.Today))
	return b.String()
}
