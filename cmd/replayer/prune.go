package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
)

func (a *app) prune() *cobra.Command {
	var consent consentFlags
	var olderThan string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old resolved dead letters (dry run without --execute)",
		Long: `Remove dead letters that were reprocessed, discarded, or closed as duplicate or superseded longer ago than
dead_letters.keep_resolved (30 days): their records leave the DLQ, their states the status topic.
This cannot be undone. The DLQ of other software is named by --brokers (or --profile) and --topic.

Kafka deletes only from the beginning of a partition: an unresolved dead letter keeps everything
behind it. The output names these dead letters.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runPrune(cmd.Context(), olderThan, &consent) },
	}
	consent.register(cmd)
	a.dlqFlags.registerOwn(cmd)
	cmd.Flags().StringVar(&olderThan, "older-than", "", "resolved before this: a time, a date, or an age such as 30d (default: dead_letters.keep_resolved)")
	return cmd
}

func (a *app) runPrune(ctx context.Context, olderThan string, consent *consentFlags) error {
	if err := consent.check(); err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	now := a.env.Now()
	before := now.Add(-s.KeepResolved())
	if olderThan != "" {
		if before, err = deadletters.ResolveTime(olderThan, now); err != nil {
			return cli.UsageError("--older-than: %w", err)
		}
	}
	if consent.execute {
		result, err := s.Prune(ctx, before, a.call(consent.reason))
		if errors.Is(err, jobs.ErrFenced) {
			return exit(cli.ExitStopped, err)
		}
		if err != nil {
			return err
		}
		return a.writePrune("pruned", result)
	}
	result, err := s.PreviewPrune(ctx, before)
	if err != nil {
		return err
	}
	if result.Letters == 0 && result.Records == 0 {
		err := a.writePrune("would prune", result)
		return errors.Join(err, exit(cli.ExitNothing, errors.New("no dead letter can be pruned")))
	}
	if err := a.writePrune("would prune", result); err != nil {
		return err
	}
	older := ""
	if olderThan != "" {
		older = " --older-than " + before.UTC().Format(time.RFC3339Nano)
	}
	return a.endDryRun(fmt.Sprintf("replayer prune %s%s", a.dlqText(), older), consent.reason)
}

func (a *app) writePrune(done string, r replay.PruneResult) error {
	var b figures
	pruned := []string{fmt.Sprintf("%d dead letters that were resolved before %s", r.Letters, dlq.TimeText(r.Before))}
	for _, s := range deadletters.Statuses() {
		if n := r.Statuses[s]; n > 0 {
			pruned = append(pruned, fmt.Sprintf("%d %s", n, s))
		}
	}
	b.line(done, "%s", strings.Join(pruned, ", "))
	b.line("records", "%d from the DLQ", r.Records)
	for _, block := range r.Blocks {
		b.line("kept", "%d dead letters of partition %d are behind %s, which is %s", block.Behind, block.Partition, cli.CleanText(block.ID, cli.OneLine), dlq.StatusText(block.Status))
	}
	return a.answer(r, b.String())
}
