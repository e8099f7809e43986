package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
)

func (a *app) show() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: why it died, its hops, headers and bytes",
		Long: `Show one dead letter. With --out, write its original bytes into a file, however large they are. The bytes of a
dead letter that fits into no topic are read from its place in the source topic while they are there.`,
		Args: oneArgument("show takes the id of one dead letter (replayer list shows them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" {
				return a.runShowOut(cmd.Context(), args[0], out)
			}
			return a.runShow(cmd.Context(), args[0])
		},
	}
	a.dlqFlags.register(cmd)
	cmd.Flags().StringVar(&out, "out", "", "write the original bytes into this file (it must not exist; - is the standard output) and show nothing else")
	mustComplete(cmd.MarkFlagFilename("out"))
	return cmd
}

func (a *app) runShow(ctx context.Context, id string) error {
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	d, err := s.Show(ctx, id)
	if err != nil {
		return err
	}
	return a.answer(dlq.NewDetailJSON(d), a.detailText(d))
}

// runShowOut writes the original bytes of a dead letter into a file. It removes a file that it cannot write completely.
func (a *app) runShowOut(ctx context.Context, id, file string) error {
	if _, err := os.Lstat(file); err == nil && file != "-" {
		return cli.UsageError("%s exists; it is not overwritten", file)
	}
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	if file == "-" {
		to := a.env.Out
		if a.env.Terminal {
			to = cli.Cleaner{To: to}
		}
		_, err := s.CopyOriginal(ctx, id, to)
		return err
	}
	done, err := s.SaveOriginal(ctx, id, file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.env.Err, "%d bytes of dead letter %s, read from %s, are in %s (SHA-256 %s)\n", done.Bytes, cli.CleanText(id, cli.OneLine), done.From, file, done.SHA256)
	return err
}
