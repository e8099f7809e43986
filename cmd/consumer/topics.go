package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/topics"
)

func newTopics() *cobra.Command {
	cmd := &cobra.Command{Use: "topics", Short: "Create, check or adopt topics, or print the privileges on them"}
	cmd.AddCommand(newTopicsEnsure(), newTopicsCheck(), newTopicsAdopt(), newTopicsACLs())
	return cmd
}

func newTopicsEnsure() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "ensure -c FILE",
		Short: "Create the topics that are missing; change nothing that exists, but say what differs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAdmin(cmd.Context(), file, func(cfg *config.Config, admin *kadm.Client) error {
				report, err := topics.Ensure(cmd.Context(), admin, topics.Plan(cfg))
				fmt.Fprintln(cmd.OutOrStdout(), report)
				if err != nil {
					return err
				}
				if _, err := printFormer(cmd.Context(), cmd.OutOrStdout(), cfg, admin); err != nil {
					return err
				}
				if len(report.Faults) > 0 {
					return errors.New(count(len(report.Faults), "fault") + " in topics that existed before")
				}
				return nil
			})
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func newTopicsCheck() *cobra.Command {
	var file string
	var output *outputValue
	cmd := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Say what is wrong with the topics, each with the command that fixes it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAdmin(cmd.Context(), file, func(cfg *config.Config, admin *kadm.Client) error {
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
					notes = cmd.ErrOrStderr() // a program gets a list of faults, and these are none
				}
				if _, err := printFormer(cmd.Context(), notes, cfg, admin); err != nil {
					return err
				}
				if len(faults) > 0 {
					return errors.New(count(len(faults), "fault"))
				}
				return nil
			})
		},
	}
	configFlag(cmd, &file)
	output = outputFlag(cmd)
	return cmd
}

// printFormer prints what waits in former tiers, and which of them can be deleted.
func printFormer(ctx context.Context, out io.Writer, cfg *config.Config, admin *kadm.Client) (n int, err error) {
	former, err := topics.FindFormer(ctx, admin, cfg)
	for _, f := range former {
		fmt.Fprintln(out, f)
	}
	return len(former), err
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
