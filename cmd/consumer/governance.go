package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/internal/kafka"
)

func newGovernance() *cobra.Command {
	cmd := &cobra.Command{Use: "governance", Short: "Export or verify the ledger of what governance stopped"}
	cmd.AddCommand(newGovernanceExport(), newGovernanceVerify())
	return cmd
}

func newGovernanceExport() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export -c FILE > LEDGER.json",
		Short: "Write the ledger as one JSON object to standard output; refuses one whose chain is broken",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ledger, err := readLedger(cmd.Context(), file)
			if err != nil {
				return err
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(ledger); err != nil {
				return fmt.Errorf("write the ledger: %w", err)
			}
			return ledger.Verify()
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func newGovernanceVerify() *cobra.Command {
	var file, exported, since string
	cmd := &cobra.Command{
		Use:   "verify (-c FILE | --ledger LEDGER.json)",
		Short: "Hold the ledger of a pipeline, or one that was exported, against its chain of hashes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ledger, err := eitherLedger(cmd.Context(), file, exported)
			if err != nil {
				return err
			}
			if err := ledger.Verify(); err != nil {
				return err
			}
			if err := continues(ledger, since); err != nil {
				return err
			}
			for _, line := range ledger.Missing() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", ledger.Pipeline, line)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in %s, every chain whole\n", ledger.Pipeline, counted(ledger.Entries(), "entry", "entries"), count(len(ledger.Partitions), "partition"))
			return nil
		},
	}
	configFlagOnly(cmd, &file) // an argument could be either file
	choose := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if exported != "" {
			return nil // a ledger that is named is meant, whatever the environment has
		}
		return choose(cmd, args)
	}
	cmd.Flags().StringVar(&exported, "ledger", "", "exported ledger (JSON)")
	cmd.Flags().StringVar(&since, "since", "", "an earlier export (JSON): the ledger must go on from it")
	return cmd
}

// continues holds a ledger against an earlier export, if there is one.
func continues(ledger governance.Document, since string) error {
	if since == "" {
		return nil
	}
	before, err := parseLedger(since)
	if err != nil {
		return err
	}
	if err := before.Verify(); err != nil {
		return fmt.Errorf("%s: %w", since, err)
	}
	return ledger.Continues(before)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func eitherLedger(ctx context.Context, file, exported string) (governance.Document, error) {
	switch {
	case (file == "") == (exported == ""):
		return governance.Document{}, usageError{errors.New("-c and --ledger name two ledgers: leave one of them out")}
	case file != "":
		return readLedger(ctx, file)
	}
	return parseLedger(exported)
}

// parseLedger reads an exported ledger.
func parseLedger(path string) (governance.Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return governance.Document{}, usageError{fmt.Errorf("read the ledger: %w", err)}
	}
	return governance.ParseDocument(text)
}

// readLedger takes the ledger of a pipeline from its topics.
func readLedger(ctx context.Context, file string) (governance.Document, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return governance.Document{}, configError(err)
	}
	if !cfg.Governance.On() {
		return governance.Document{}, usageError{fmt.Errorf("%s keeps no ledger: it reads no marks under governance", file)}
	}
	opts, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return governance.Document{}, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return governance.Document{}, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := kafka.Reachable(ctx, client); err != nil {
		return governance.Document{}, err
	}
	doc, err := governance.Read(ctx, client, cfg)
	return doc, kafka.NamedDenial(kafka.Principal(cfg.Kafka), "consumer topics acls", err)
}
