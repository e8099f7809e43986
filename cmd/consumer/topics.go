package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func newTopics() *cobra.Command {
	cmd := &cobra.Command{Use: "topics", Short: "Create, check or adopt topics, or print the privileges on them"}
	cmd.AddCommand(newTopicsEnsure(), newTopicsCheck(), newTopicsAdopt(), newTopicsACLs())
	return cmd
}

func newTopicsEnsure() *cobra.Command {
	return withFile(&cobra.Command{
		Use:   "ensure -c FILE",
		Short: "Create the missing topics; report differences of existing ones, but change none of them",
	}, func(cmd *cobra.Command, cfg *config.Config, _ string) error {
		return withAdmin(cmd.Context(), cfg, func(admin *kadm.Client) error {
			report, err := topics.Ensure(cmd.Context(), admin, topics.Plan(cfg))
			fmt.Fprintln(cmd.OutOrStdout(), report)
			if err != nil {
				return err
			}
			if err := printFormer(cmd.Context(), cmd.OutOrStdout(), cfg, admin); err != nil {
				return err
			}
			if len(report.Faults) > 0 {
				return errors.New(cli.Count(len(report.Faults), "fault") + " in topics that existed before")
			}
			return nil
		})
	})
}

func newTopicsCheck() *cobra.Command {
	var output *outputValue
	cmd := withFile(&cobra.Command{
		Use:   "check -c FILE",
		Short: "List the faults of the topics, with the commands that fix them",
	}, func(cmd *cobra.Command, cfg *config.Config, _ string) error {
		return withAdmin(cmd.Context(), cfg, func(admin *kadm.Client) error {
			plan, err := topics.PlanOn(cmd.Context(), admin, cfg)
			if err != nil {
				return err
			}
			faults, err := topics.Check(cmd.Context(), admin, plan)
			if err != nil {
				return err
			}
			if err := printFaults(cmd, faults, output); err != nil {
				return err
			}
			notes := cmd.OutOrStdout()
			if !output.people() {
				notes = cmd.ErrOrStderr() // a program reads a list of faults from stdout, and notes are not faults
			}
			if err := printFormer(cmd.Context(), notes, cfg, admin); err != nil {
				return err
			}
			if len(faults) > 0 {
				return errors.New(cli.Count(len(faults), "fault"))
			}
			return nil
		})
	})
	output = outputFlag(cmd)
	return cmd
}

// printFormer prints the former tiers with their waiting records, and which of them can be deleted.
func printFormer(ctx context.Context, out io.Writer, cfg *config.Config, admin *kadm.Client) error {
	former, err := topics.FindFormer(ctx, admin, cfg)
	for _, f := range former {
		fmt.Fprintln(out, f.FormerText())
	}
	return err
}

func printFaults(cmd *cobra.Command, faults []topics.Fault, output *outputValue) error {
	if !output.people() {
		if faults == nil {
			faults = []topics.Fault{}
		}
		return output.encode(cmd.OutOrStdout(), faults)
	}
	for _, f := range faults {
		fmt.Fprintln(cmd.OutOrStdout(), f)
	}
	if len(faults) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "all topics fit")
	}
	return nil
}

func newTopicsAdopt() *cobra.Command {
	var execute bool
	var output *outputValue
	cmd := withFile(&cobra.Command{
		Use:   "adopt -c FILE",
		Short: "Show how a re-created topic affects the stored state; with --execute, accept it",
		Long: `Show how a topic that was deleted and re-created, or a renamed group, affects the pipeline's stored state.
Without --execute nothing is changed. With it, the pipeline continues with the topics as they are now. All instances
must be stopped: open transactions of killed or frozen ones are aborted and cannot be committed afterwards.

Dead letters stay as they are, and records that wait in the tiers are still delivered.`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		return withAdmin(cmd.Context(), cfg, func(*kadm.Client) error {
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
	})
	output = outputFlag(cmd)
	cmd.Flags().BoolVar(&execute, "execute", false, "accept the topics as they are now")
	return cmd
}

func printAdoption(w io.Writer, a *engine.Adoption, cfg *config.Config, file string, done bool) {
	if len(a.Mismatches) == 0 {
		fmt.Fprintln(w, "nothing to adopt: the stored state belongs to the present topics")
		return
	}
	for _, m := range a.Mismatches {
		fmt.Fprintln(w, m)
	}
	fmt.Fprintf(w, "\nin %s:\n", cli.Count(a.Partitions, "partition"))
	for _, m := range a.Mismatches {
		fmt.Fprintln(w, "  "+meaning(m, a, cfg))
	}
	fmt.Fprintf(w, "  the order of %s that wait or have a dead letter is kept\n", cli.Count(a.Kept, "key"))
	if a.Versions > 0 {
		fmt.Fprintf(w, "  the newest version of %s is still known: an older one is superseded\n", cli.Count(a.Versions, "key"))
	}
	fmt.Fprintf(w, "  at most %s in the tiers are still delivered, and at most %s stay\n",
		cli.Count(int(a.Waiting), "waiting record"), cli.Count(int(a.DeadLetters), "dead letter"))
	if done {
		fmt.Fprintln(w, "\ndone; start the consumers")
		return
	}
	fmt.Fprintf(w, "\nNothing is changed. Stop all instances, then: consumer topics adopt -c %s --execute\n", file)
}

// meaning describes the effect of adopting on a mismatch.
func meaning(m retrytopics.Mismatch, a *engine.Adoption, cfg *config.Config) string {
	switch m.Kind {
	case retrytopics.MismatchSource, retrytopics.MismatchUnbound:
		return fmt.Sprintf("%s: the last effective events are forgotten for %s; %s is read from its start, and each of its events %s",
			m.Topic, cli.Count(a.Forgotten, "key"), m.Topic, newerThanBefore(cfg))
	case retrytopics.MismatchTier:
		text := m.Topic + ": the records that waited in the former topic are lost; the audit trail names them (retried, and nothing after it)"
		if cfg.Ordering.Mode == config.OrderingStrict {
			text += "; keys that wait continue out of turn, and no older event takes effect after a newer one"
		}
		return text
	case retrytopics.MismatchLedger:
		return m.Topic + ": repetitions of events in the former topic are not recognized"
	case retrytopics.MismatchState:
		return m.Topic + ": the order of the waiting records is lost, and so is the newest version of each key; the group continues from its commits"
	case retrytopics.MismatchGroup:
		return fmt.Sprintf("%s: group %s continues where group %s stopped", m.Topic, m.Now, m.Remembered)
	}
	return string(m.Kind)
}

// newerThanBefore describes when an event of a re-created topic counts as newer than earlier ones.
func newerThanBefore(cfg *config.Config) string {
	if cfg.Source.Version == "" || cfg.Ordering.Mode == config.OrderingNone {
		return "counts as newer than all earlier ones"
	}
	return "counts by its version (" + cfg.Source.Version + "), and as newer than earlier ones with the same version"
}

// aclsFlags are the flags of topics acls.
type aclsFlags struct {
	principal, host string
	roles           []string
}

func newTopicsACLs() *cobra.Command {
	var f aclsFlags
	var output *outputValue
	cmd := withFile(&cobra.Command{
		Use:   "acls -c FILE --principal User:NAME",
		Short: "Print the least privileges that the consumer's commands need, as kafka-acls.sh commands or JSON",
		Long: `Print the least privileges that the consumer's commands need on a cluster with ACLs, as kafka-acls.sh
commands or, with -o json, as JSON. Nothing is changed and no broker is asked.

Give the principal of consumer run the role run alone (--for run); topics, control and status are for
operators. The replayer's privileges are printed by replayer acls.`,
	}, func(cmd *cobra.Command, cfg *config.Config, _ string) error { return f.print(cmd, cfg, output) })
	cmd.Flags().StringVar(&f.principal, "principal", "", "principal that gets them, such as User:orders (mandatory)")
	cmd.Flags().StringVar(&f.host, "host", "*", "address from which the principal may connect")
	cmd.Flags().StringSliceVar(&f.roles, "for", roleWords(), "what for: "+strings.Join(roleWords(), ", "))
	output = outputFlag(cmd)
	return cmd
}

func roleWords() (words []string) {
	for _, role := range acls.ConsumerRoles() {
		words = append(words, string(role))
	}
	return words
}

func (f aclsFlags) print(cmd *cobra.Command, cfg *config.Config, output *outputValue) error {
	var roles []acls.Role
	for _, word := range f.roles {
		role := acls.Role(word)
		if !slices.Contains(acls.ConsumerRoles(), role) {
			return usageError(fmt.Errorf("--for %q: use one of %s", word, strings.Join(roleWords(), ", ")))
		}
		roles = append(roles, role)
	}
	allowed, err := acls.For(cfg, f.principal, f.host, roles)
	if err != nil {
		return usageError(fmt.Errorf("--principal, --host: %w", err))
	}
	if output.people() {
		return allowed.WriteCommands(cmd.OutOrStdout(), cfg.Kafka)
	}
	return output.encode(cmd.OutOrStdout(), allowed)
}
