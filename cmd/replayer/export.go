package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/dlq"
)

func (a *app) export() *cobra.Command {
	var sel selection
	var read reading
	var format string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters with their bytes as NDJSON, GeoJSON or CSV",
		Long: `Write the dead letters that all given flags select to the standard output, the oldest first.

ndjson has all that stands in each record: headers in their order with their repetitions, and
base64 where bytes are no UTF-8. geojson is a FeatureCollection of the decoded features for a map;
what is no feature has no geometry. csv is a table for a spreadsheet.`,
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runExport(cmd.Context(), &sel, &read, dlq.Format(format))
		},
	}
	sel.register(cmd)
	read.register(cmd)
	read.registerGone(cmd)
	cmd.Flags().StringVar(&format, "format", string(dlq.NDJSON), strings.Join(exportWords(), ", "))
	mustComplete(cmd.RegisterFlagCompletionFunc("format", words(exportWords())))
	return cmd
}

func exportWords() []string {
	var out []string
	for _, f := range dlq.Formats() {
		out = append(out, string(f))
	}
	return out
}

func (a *app) runExport(ctx context.Context, sel *selection, read *reading, format dlq.Format) error {
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	if !slices.Contains(dlq.Formats(), format) {
		return usage("unknown format %q; use one of %s", string(format), strings.Join(exportWords(), ", "))
	}
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	to := a.env.Out
	if a.env.Terminal {
		to = cleaner{to}
	}
	done, err := s.Export(ctx, read.query(a, filter), format, to)
	if err != nil {
		return err
	}
	if done.Letters == 0 {
		return nothing()
	}
	said := count(done.Letters, "dead letter")
	if done.NoPlace > 0 {
		said += fmt.Sprintf(", %d of them no feature that can be decoded: their geometry is null", done.NoPlace)
	}
	if done.Gone > 0 {
		said += fmt.Sprintf(", %d of them without bytes: the topic no longer has them", done.Gone)
	}
	_, err = fmt.Fprintln(a.env.Err, said)
	return err
}
