package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func newTopicsAdopt() *cobra.Command {
	var file string
	var execute bool
	var output *outputValue
	cmd := &cobra.Command{
		Use:   "adopt -c FILE",
		Short: "Say what a topic that was deleted and re-created means for the memory; with --execute, go on with it",
		Long: `Say what a topic that was deleted and re-created, or a group that was renamed, means for the pipeline's memory.
It changes nothing without --execute. With it, the pipeline goes on with the topics as they are now. All instances
must be stopped: open transactions of killed or frozen ones are ended, and cannot be committed afterwards.

Dead letters stay as they are, and records that wait in the tiers are still delivered.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAdmin(cmd.Context(), file, func(cfg *config.Config, _ *kadm.Client) error {
				adoption, err := consumer.Adopt(cmd.Context(), cfg, execute)
				if err != nil {
					return err
				}
				if !output.people() {
					return output.encode(cmd.OutOrStdout(), adoption)
				}
				printAdoption(cmd.OutOrStdout(), adoption, cfg, file, execute)
				return nil
			})
		},
	}
	configFlag(cmd, &file)
	output = outputFlag(cmd)
	cmd.Flags().BoolVar(&execute, "execute", false, "do what the plan says")
	return cmd
}

func printAdoption(w io.Writer, a *retrytopics.Adoption, cfg *config.Config, file string, done bool) {
	if len(a.Mismatches) == 0 {
		fmt.Fprintln(w, "nothing to adopt: the memory belongs to the topics as they are")
		return
	}
	for _, m := range a.Mismatches {
		fmt.Fprintln(w, m)
	}
	fmt.Fprintf(w, "\nin %s:\n", count(a.Partitions, "partition"))
	for _, m := range a.Mismatches {
		fmt.Fprintln(w, "  "+meaning(m, a, cfg))
	}
	fmt.Fprintf(w, "  the order of %s that wait or have a dead letter is kept\n", count(a.Kept, "key"))
	if a.Versions > 0 {
		fmt.Fprintf(w, "  the newest version of %s is still known: an older one is superseded\n", count(a.Versions, "key"))
	}
	fmt.Fprintf(w, "  at most %s in the tiers are still delivered, and %d dead letters stay\n", count(int(a.Waiting), "waiting record"), a.DeadLetters)
	if done {
		fmt.Fprintln(w, "\ndone; start the consumers")
		return
	}
	fmt.Fprintf(w, "\nNothing is changed. Stop all instances, then: consumer topics adopt -c %s --execute\n", file)
}

// meaning describes what adopting does about a mismatch.
func meaning(m retrytopics.Mismatch, a *retrytopics.Adoption, cfg *config.Config) string {
	switch m.Kind {
	case retrytopics.MismatchSource, retrytopics.MismatchUnbound:
		return fmt.Sprintf("%s: what took effect last is forgotten for %s; %s is read from its start, and each of its events %s",
			m.Topic, count(a.Forgotten, "key"), m.Topic, newerThanBefore(cfg))
	case retrytopics.MismatchTier:
		text := m.Topic + ": what waited in the former topic is lost; the audit trail names it (retried, and nothing after it)"
		if cfg.Ordering.Mode == config.OrderingStrict {
			text += "; keys that wait go on without their turn, and no older event takes effect after a newer one"
		}
		return text
	case retrytopics.MismatchLedger:
		return m.Topic + ": repetitions of what the former topic knew are not recognised"
	case retrytopics.MismatchState:
		return m.Topic + ": the order of the records that wait is not known any more, nor is the newest version of a key; the group goes on from its commits"
	case retrytopics.MismatchGroup:
		return fmt.Sprintf("%s: group %s goes on where group %s stopped", m.Topic, m.Now, m.Remembered)
	}
	return string(m.Kind)
}

// newerThanBefore describes when an event of a re-created topic counts as newer than earlier ones.
func newerThanBefore(cfg *config.Config) string {
	if cfg.Source.Version == "" || cfg.Ordering.Mode == config.OrderingNone {
		return "counts as newer than what was before"
	}
	return "counts by its version (" + cfg.Source.Version + "), and as newer than what was before with the same one"
}
