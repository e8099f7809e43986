package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/app"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/topics"
)

func newPlan() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "plan -c FILE",
		Short: "Show the topics of a pipeline and the timeline of its retries; contacts no broker",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file)
			if err != nil {
				return configError(err)
			}
			return printPlan(cmd.OutOrStdout(), cfg)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func printPlan(out io.Writer, cfg *config.Config) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "pipeline\t%s\ngroup\t%s\n\n", cfg.Pipeline.ID, cfg.Source.Group)
	fmt.Fprintln(w, "TOPIC\tROLE\tPARTITIONS\tKEEPS")
	for _, t := range topics.Plan(cfg) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", t.Name, t.Role, t.Partitions, t.Keeping())
	}
	fmt.Fprintln(w, "\nATTEMPT\tNOT BEFORE\tWAITS IN")
	fmt.Fprintf(w, "1\tat once\t%s\n", cfg.Source.Topic)
	at := time.Duration(0)
	for _, step := range app.Timeline(cfg) {
		at += step.Delay
		fmt.Fprintf(w, "%d\t%v after the first failure\t%s\n", step.Attempt, at, step.Topic)
	}
	policy := cfg.Pipeline.RetryPolicy
	fmt.Fprintf(w, "\nAfter attempt %d a record goes to %s. ", policy.MaxAttempts, cfg.Topics.DLQ)
	fmt.Fprintf(w, "Each wait is up to %v longer (jitter); a Retry-After of at most %v overrides it.\n", policy.MaxJitter(), policy.RetryAfterLimit)
	if cfg.Source.NullKeys == config.NullKeysAccept {
		fmt.Fprintln(w, "Records without a key are accepted: Kafka keeps no order per feature for them.")
	}
	return w.Flush()
}
