package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

func (a *app) list() *cobra.Command {
	var sel selection
	var show listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters",
		Long: `List the dead letters that all given flags select, the oldest first. With -o json or ndjson
each has its original bytes, as text or base64.

--newest begins with the dead letters that died last; with --limit N these are the N newest.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runList(cmd.Context(), &sel, show)
		},
	}
	sel.register(cmd)
	a.dlqFlags.register(cmd)
	a.dlqFlags.registerGone(cmd)
	cmd.Flags().BoolVar(&show.newest, "newest", false, "the newest first; with --limit the newest ones")
	cmd.Flags().BoolVar(&show.noValues, "no-values", false, "leave out the original bytes (json, ndjson)")
	cmd.Flags().BoolVar(&show.details, "details", false, "all fields: group, time of death, feature, attempts, replays and problems too (json, ndjson)")
	return cmd
}

// listing holds the flags for the order and the fields of listed dead letters.
type listing struct{ newest, noValues, details bool }

func (a *app) runList(ctx context.Context, sel *selection, show listing) error {
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	q := a.query(filter)
	q.Newest = show.newest
	if a.output == "table" {
		return a.letterTable(ctx, s, q)
	}
	each := s.Contents
	if show.noValues {
		each = s.Letters
	}
	e := a.emitter()
	err = each(ctx, q, func(l deadletters.Letter) error {
		if show.details {
			return e.Emit(dlq.NewLetterJSON(l))
		}
		return e.Emit(dlq.NewEntryJSON(l))
	})
	if err != nil {
		return err
	}
	return e.End(nothing())
}

func nothing() error { return exit(cli.ExitNothing, errors.New("no dead letter matches")) }

func (a *app) letterTable(ctx context.Context, s *dlq.Service, q dlqindex.Query) error {
	t := cli.Table{Columns: []cli.Column{
		{Title: "ID"}, {Title: "DIED AT"}, {Title: "STATUS"}, {Title: "CODE"},
		{Title: "BYTES", Right: true, Below: true}, {Title: "GROUP", Below: true}, {Title: "FEATURE", Below: true}, {Title: "MESSAGE", Below: true},
	}}
	broken := 0
	err := s.Letters(ctx, q, func(l deadletters.Letter) error {
		message := l.Control.ErrorMessage
		if len(l.Problems) > 0 {
			broken++
			if message == "" || l.TooLarge != "" {
				message = l.Problems[0]
			}
			message = "! " + message
		}
		t.Add(l.ID, l.At.UTC().Format("2006-01-02 15:04:05"), statusText(&l), orDash(l.Control.ErrorCode),
			strconv.Itoa(l.Size), l.Group, orDash(l.Control.FeatureID), message)
		return nil
	})
	if err != nil {
		return err
	}
	if t.Len() == 0 {
		return nothing()
	}
	if err := a.print(t.Text(a.screen())); err != nil {
		return err
	}
	listed, of := t.Len(), ""
	if q.Limit > 0 && listed == q.Limit {
		all, err := s.Count(ctx, q)
		if err != nil {
			return err
		}
		if all > listed {
			of = strconv.Itoa(listed) + " of "
			listed = all
		}
	}
	fmt.Fprintf(a.env.Err, "%s%s%s", t.Dropped(), of, cli.Count(listed, "dead letter"))
	if broken > 0 {
		fmt.Fprintf(a.env.Err, ", %d of them not fully readable (!): replayer show ID says what is wrong", broken)
	}
	fmt.Fprintln(a.env.Err)
	return nil
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (a *app) export() *cobra.Command {
	var sel selection
	var format string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters with their bytes as NDJSON, GeoJSON or CSV",
		Long: `Write the dead letters that all given flags select to the standard output, the oldest first.

ndjson has everything in each record: headers in their order with duplicates, and base64 for bytes
that are not UTF-8. geojson is a FeatureCollection of the decoded features for a map; a value that is
not a feature has no geometry. csv is a table for a spreadsheet.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runExport(cmd.Context(), &sel, dlq.Format(format))
		},
	}
	sel.register(cmd)
	a.dlqFlags.register(cmd)
	a.dlqFlags.registerGone(cmd)
	cmd.Flags().StringVar(&format, "format", string(dlq.NDJSON), strings.Join(texts(dlq.Formats()), ", "))
	mustComplete(cmd.RegisterFlagCompletionFunc("format", words(texts(dlq.Formats()))))
	return cmd
}

func (a *app) runExport(ctx context.Context, sel *selection, format dlq.Format) error {
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	if !slices.Contains(dlq.Formats(), format) {
		return cli.UsageError("unknown format %q; use one of %s", string(format), strings.Join(texts(dlq.Formats()), ", "))
	}
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	to := a.env.Out
	if a.env.Terminal {
		to = cli.Cleaner{To: to}
	}
	done, err := s.Export(ctx, a.query(filter), format, to)
	if err != nil {
		return err
	}
	if done.Letters == 0 {
		return nothing()
	}
	text := cli.Count(done.Letters, "dead letter")
	if done.NoPlace > 0 {
		text += fmt.Sprintf(", %d of them without a feature that can be decoded: their geometry is null", done.NoPlace)
	}
	if done.Gone > 0 {
		text += fmt.Sprintf(", %d of them without bytes: the topic no longer has them", done.Gone)
	}
	_, err = fmt.Fprintln(a.env.Err, text)
	return err
}
