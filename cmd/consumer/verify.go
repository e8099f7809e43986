package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/verify"
)

func newVerify() *cobra.Command {
	cmd := &cobra.Command{Use: "verify", Short: "Verify the topics, the table and the audit trail"}
	cmd.AddCommand(newVerifyRecords(), newVerifyTable(), newVerifyAudit())
	return cmd
}

// verifyWithin verifies within --timeout; 0 is no limit. It adds advice to a timeout.
func verifyWithin(outer context.Context, timeout time.Duration, advice string, run func(context.Context) error) error {
	if timeout < 0 {
		return usageError(fmt.Errorf("--timeout %s: set a time, or 0 for none", timeout))
	}
	ctx := outer
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err := run(ctx)
	switch {
	case err != nil && outer.Err() != nil:
		return errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("not verified within --timeout %s: %w%s", timeout, err, advice)
	}
	return err
}

// verdictReport is the report of a verification.
type verdictReport interface {
	Text(out io.Writer) error
	Line() string
}

// printVerdict prints a report. It returns an error if a guarantee is broken.
func printVerdict(out io.Writer, output *outputValue, report verdictReport, verdict verify.Verdict) error {
	show := report.Text
	if !output.people() {
		show = func(out io.Writer) error { return output.encode(out, report) }
	}
	err := show(out)
	if err == nil && verdict == verify.Violated {
		err = cli.ExitError{Code: cli.ExitPartly, Err: errors.New(report.Line())}
	}
	return err
}

type recordsFlags struct {
	output  *outputValue
	options verify.Options
	timeout time.Duration
	quiet   bool
}

func newVerifyRecords() *cobra.Command {
	var f recordsFlags
	cmd := withFile(&cobra.Command{
		Use:   "records -c FILE",
		Short: "Prove from the topics that each record is in exactly one place",
		Long: `Prove from the topics that every record of the source is in exactly one place: delivered, dead, closed, waiting, or
not read yet. The pipeline keeps running and nothing is written. Each record that is missing, or is in more than one place, is
named. Records that retention or compaction removed are reported as "cannot be known", with the topic.

All topics of the pipeline are read once. A violation is checked again before it is reported, so that records that move
meanwhile cause no false alarm. Memory: 8 bytes for each position of the source.

Exit codes: 0 proven, or nothing known is wrong; 4 violated; 1 it could not be verified.`,
	}, f.run)
	f.output = outputFlag(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.options.Bounds.Partition, "partition", -1, "verify this partition of the source only (-1: all)")
	flags.Int64Var(&f.options.Bounds.From, "from", 0, "from this offset of the source")
	flags.Int64Var(&f.options.Bounds.To, "to", 0, "up to this offset of the source, not included (0: the end)")
	flags.IntVar(&f.options.Limit, "limit", verify.DefaultLimit, "how many records of each kind to name")
	flags.Int64Var(&f.options.MaxPositions, "max-positions", verify.DefaultMaxPositions, "largest number of positions in memory, 8 bytes each")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this time (0: never)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

func (f *recordsFlags) check() error {
	b := f.options.Bounds
	switch {
	case b.Partition < -1:
		return usageError(fmt.Errorf("--partition %d: set the number of a partition, or -1 for all", b.Partition))
	case b.From < 0 || b.To < 0 || b.To > 0 && b.To <= b.From:
		return usageError(fmt.Errorf("--from %d --to %d: want offsets from 0, and --to after --from", b.From, b.To))
	case f.options.Limit < 0:
		return usageError(fmt.Errorf("--limit %d: set a number from 0", f.options.Limit))
	case f.options.MaxPositions < 1:
		return usageError(fmt.Errorf("--max-positions %d: set a number from 1", f.options.MaxPositions))
	}
	return nil
}

func (f *recordsFlags) run(cmd *cobra.Command, cfg *config.Config, file string) error {
	if err := f.check(); err != nil {
		return err
	}
	return verifyWithin(cmd.Context(), f.timeout, "; verify a part with --partition, --from and --to", func(ctx context.Context) error {
		return withControl(ctx, cfg, file, func(client *kgo.Client, view control.View) error {
			return f.verify(ctx, cmd, cfg, client, view)
		})
	})
}

func (f *recordsFlags) verify(ctx context.Context, cmd *cobra.Command, cfg *config.Config, client *kgo.Client, view control.View) error {
	proven, err := verify.Prover(os.Getenv, view.Keys)
	if err != nil {
		return usageError(err)
	}
	o := f.options
	o.Proven = proven
	if !f.quiet {
		o.Progress = func(topic string, records int64) {
			fmt.Fprintf(cmd.ErrOrStderr(), "verify: %d records read, now %s\n", records, topic)
		}
	}
	report, err := verify.Run(ctx, client, cfg, o)
	if err != nil {
		return fmt.Errorf("verify %s: %w", cfg.Pipeline.ID, err)
	}
	return printVerdict(cmd.OutOrStdout(), f.output, report, report.Verdict)
}

type tableFlags struct {
	output  *outputValue
	options sink.VerifyOptions
	timeout time.Duration
}

func newVerifyTable() *cobra.Command {
	var f tableFlags
	cmd := withTable(&cobra.Command{
		Use:   "table -c FILE",
		Short: "Compare the table with the output topic while the pipeline runs; with --repair, rewrite rows that differ",
		Long: `Compare the table with the newest record of each key of the output topic, column by column, and name each row that is
missing, stale (of an older event), extra or changed. Rows that are ahead of the topic, or whose record the topic no longer
has, are counted. The pipeline keeps running, and only a temporary table is written.

With --repair, wrong rows are rewritten with their version by the same guarded write as in the pipeline, so that an older
version never overwrites a newer one. Rows that no event has written are deleted.

The output topic is read twice. Memory: about 100 bytes for each key.

Exit codes: 0 nothing known is wrong, or everything was repaired; 4 violated; 1 it could not be verified.`,
	}, f.run)
	f.output = outputFlag(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.options.Limit, "limit", sink.DefaultFindings, "how many keys of each kind to name")
	flags.IntVar(&f.options.MaxKeys, "max-keys", sink.DefaultVerifiedKeys, "largest number of the output topic's keys in memory, about 100 bytes each")
	flags.BoolVar(&f.options.Repair, "repair", false, "rewrite wrong rows")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this time (0: never)")
	return cmd
}

func (f *tableFlags) run(cmd *cobra.Command, cfg *config.Config, _ string) error {
	switch {
	case f.options.Limit < 0:
		return usageError(fmt.Errorf("--limit %d: set a number from 0", f.options.Limit))
	case f.options.MaxKeys < 1:
		return usageError(fmt.Errorf("--max-keys %d: set a number from 1", f.options.MaxKeys))
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
