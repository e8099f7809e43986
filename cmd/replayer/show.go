package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/dlq"
)

func (a *app) show() *cobra.Command {
	var read reading
	var geojson bool
	var out string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: why it died, its hops, headers and bytes",
		Long: `Show one dead letter. With --out, write its original bytes into a file, however large they are. The bytes of a
dead letter that fits into no topic are read from its place in the source topic while they are there.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("show takes the id of one dead letter (replayer list shows them)")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" {
				return a.runShowOut(cmd.Context(), &read, args[0], out)
			}
			return a.runShow(cmd.Context(), &read, args[0], geojson)
		},
	}
	read.register(cmd)
	cmd.Flags().BoolVar(&geojson, "geojson", false, "print the decoded feature alone, as GeoJSON, for a map")
	cmd.Flags().StringVar(&out, "out", "", "write the original bytes into this file (it must not exist; - is the standard output) and show nothing else")
	cmd.MarkFlagsMutuallyExclusive("geojson", "out")
	mustComplete(cmd.MarkFlagFilename("out"))
	return cmd
}

func (a *app) runShow(ctx context.Context, read *reading, id string, geojson bool) error {
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	if geojson && a.alone(read) {
		return usage("--geojson needs the pipeline file (-c), which says how a feature is read")
	}
	d, err := s.Show(ctx, id)
	switch {
	case err != nil:
		return err
	case geojson:
		return a.writeFeature(d)
	case a.output == "table":
		_, err := io.WriteString(a.env.Out, a.detailText(d))
		return err
	default:
		return a.object(dlq.NewDetailJSON(d))
	}
}

// writeFeature prints the decoded feature alone.
func (a *app) writeFeature(d dlq.Detail) error {
	if d.Feature == nil {
		return fmt.Errorf("dead letter %s is no feature: %s", d.Letter.ID, featureText(d))
	}
	return a.object(json.RawMessage(d.Feature))
}
