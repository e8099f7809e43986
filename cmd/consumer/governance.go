package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/governance"
)

func newGovernance() *cobra.Command {
	cmd := &cobra.Command{Use: "governance", Short: "Export the ledger of what governance stopped"}
	cmd.AddCommand(newGovernanceExport())
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
			return audit.Broken(ledger.Verify())
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// parseLedger reads an exported ledger.
func parseLedger(path string) (governance.Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return governance.Document{}, usageError(fmt.Errorf("read the ledger: %w", err))
	}
	return governance.ParseDocument(text)
}

// readLedger reads the ledger of a pipeline from its topics.
func readLedger(ctx context.Context, file string) (governance.Document, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return governance.Document{}, configError(err)
	}
	if !cfg.Governance.On() {
		return governance.Document{}, usageError(fmt.Errorf("%s keeps no ledger: it reads no marks under governance", file))
	}
	var doc governance.Document
	err = withClient(ctx, cfg, func(client *kgo.Client) (err error) {
		doc, err = governance.Read(ctx, client, cfg)
		return err
	})
	return doc, err
}
