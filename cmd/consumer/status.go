package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/status"
)

func newStatus() *cobra.Command {
	var file string
	var output *outputValue
	var metrics []string
	var verify bool
	cmd := &cobra.Command{
		Use:   "status -c FILE",
		Short: "Show whether the pipeline runs or is held and why, its lag, what waits, and which circuits are open",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withControl(cmd.Context(), file, func(cfg *config.Config, kafka []kgo.Opt, view control.View) error {
				client, err := kgo.NewClient(kafka...)
				if err != nil {
					return fmt.Errorf("kafka client: %w", err)
				}
				defer client.Close()
				if verify {
					return verifyOrders(cmd, output, cfg, kafka)
				}
				if !cmd.Flags().Changed("metrics") {
					metrics = local(cfg.Metrics.Listen)
				}
				report, err := status.Gather(cmd.Context(), cfg, kadm.NewClient(client), view, metrics)
				if err != nil {
					return err
				}
				if output.people() {
					return report.Text(cmd.OutOrStdout())
				}
				return output.encode(cmd.OutOrStdout(), report)
			})
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&verify, "verify", false, "instead, hold the orders in the audit trail (who paused, resumed or held, and why) against their chain of hashes")
	output = outputFlag(cmd)
	cmd.Flags().StringSliceVar(&metrics, "metrics", nil, "host:port of the instances to ask for their circuits (default metrics.listen, on this machine)")
	return cmd
}

// verified is what a chain that holds is to a program. One that does not is an error.
type verified struct {
	Pipeline string `json:"pipeline"`
	Entries  int64  `json:"entries"`
	First    int64  `json:"first"`
	Head     int64  `json:"head"`
	Whole    bool   `json:"whole"`
	Missing  string `json:"missing,omitempty"` // what retention or somebody took from its beginning
}

// verifyOrders tells whether the chain of orders is whole.
func verifyOrders(cmd *cobra.Command, output *outputValue, cfg *config.Config, kafka []kgo.Opt) error {
	found, err := control.Verify(cmd.Context(), kafka, cfg)
	if err != nil {
		return fmt.Errorf("orders of %s: %w", cfg.Pipeline.ID, err)
	}
	if !output.people() {
		return output.encode(cmd.OutOrStdout(), verified{cfg.Pipeline.ID, found.Entries, found.First, found.Head, true, found.Missing()})
	}
	if missing := found.Missing(); missing != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cfg.Pipeline.ID, missing)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in the audit trail, the chain is whole from the first of them on\n", cfg.Pipeline.ID, count(int(found.Entries), "order"))
	return nil
}

// local gives the address under which an instance on this machine answers, as far as its configuration says.
func local(listen string) []string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return nil
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return []string{net.JoinHostPort(host, port)}
}
