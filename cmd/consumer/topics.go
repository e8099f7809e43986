package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cluster"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/topics"
)

func newTopics() *cobra.Command {
	cmd := &cobra.Command{Use: "topics", Short: "Create or verify the topics of a pipeline"}
	cmd.AddCommand(newTopicsEnsure(), newTopicsCheck(), newTopicsAdopt())
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
				if err == nil && len(report.Faults) > 0 {
					err = errors.New(count(len(report.Faults), "fault") + " in topics that existed before")
				}
				return err
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
		Short: "Say what is wrong with the topics, each with the command that mends it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAdmin(cmd.Context(), file, func(cfg *config.Config, admin *kadm.Client) error {
				faults, err := topics.Check(cmd.Context(), admin, topics.Plan(cfg))
				if err != nil {
					return err
				}
				if err := printFaults(cmd, faults, output); err != nil {
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

// withAdmin loads the file, connects, and calls f.
func withAdmin(ctx context.Context, file string, f func(*config.Config, *kadm.Client) error) error {
	cfg, err := config.Load(file)
	if err != nil {
		return configError(err)
	}
	opts, err := cluster.Options(cfg.Kafka)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := cluster.Reachable(ctx, client); err != nil {
		return err
	}
	return f(cfg, kadm.NewClient(client))
}
