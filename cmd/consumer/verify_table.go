package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/sink"
)

type tableFlags struct {
	file    string
	output  *outputValue
	options sink.VerifyOptions
	timeout time.Duration
}

func newVerifyTable() *cobra.Command {
	var f tableFlags
	cmd := &cobra.Command{
		Use:   "table -c FILE",
		Short: "Compare the table with the output topic, while the pipeline runs; with --repair, write what differs again",
		Long: `Compare the table with the newest record of each key of the output topic, column by column, and name each row that is
missing, stale (of an older event), extra or changed. What is ahead of the topic, or cannot be known because the topic has no
record of it any more, is counted. Nothing is stopped, and nothing is written but a temporary table.

With --repair, what is wrong is written again under the version that it has, by the same guarded write as in the pipeline:
never an older version over a newer one. Rows that nothing has written are taken away.

The output topic is read twice. Memory: about 100 bytes for each key.

Exit codes: 0 nothing is wrong with what can be known, or all of it was repaired; 4 violated; 1 it could not be verified.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	configFlag(cmd, &f.file)
	f.output = outputFlag(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.options.Limit, "limit", sink.DefaultFindings, "keys that are named of each kind")
	flags.IntVar(&f.options.MaxKeys, "max-keys", sink.DefaultVerifiedKeys, "keys of the output topic that are held in memory at most, about 100 bytes each")
	flags.BoolVar(&f.options.Repair, "repair", false, "write what is wrong again")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this time (0: take as long as it takes)")
	return cmd
}

func (f *tableFlags) run(cmd *cobra.Command) error {
	switch {
	case f.options.Limit < 0:
		return usageError(fmt.Errorf("--limit %d: give a number from 0", f.options.Limit))
	case f.options.MaxKeys < 1:
		return usageError(fmt.Errorf("--max-keys %d: give a number from 1", f.options.MaxKeys))
	case f.timeout < 0:
		return usageError(fmt.Errorf("--timeout %s: give a time, or 0 for none", f.timeout))
	}
	cfg, err := loadTable(f.file)
	if err != nil {
		return err
	}
	return verifyWithin(cmd.Context(), f.timeout, "", func(ctx context.Context) error {
		return withClient(ctx, cfg, func(client *kgo.Client) error {
			report, err := consumer.VerifySink(ctx, cfg, client, f.options)
			if err != nil {
				return fmt.Errorf("verify table %s: %w", cfg.Sink.PostGIS.Table, err)
			}
			return printVerdict(cmd.OutOrStdout(), f.output, report, report.Verdict)
		})
	})
}
