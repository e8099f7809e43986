package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/internal/verify"
)

type auditFlags struct {
	file, ledger, since string
	output              *outputValue
}

func newVerifyAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit (-c FILE | --ledger LEDGER.json)",
		Short: "Check the hash chains of the audit trail: was an event changed, removed or added?",
		Long: `Check the hash chains of the audit trail: what operators did with dead letters, who paused and resumed the pipeline,
and what governance stopped. An event that was changed, removed, added or moved breaks its chain.

Anyone who can write to all topics can forge a complete chain. Keep the output of -o json elsewhere: with --since, the
chains must continue from it. With --ledger, verify a ledger that "governance export" wrote.

Exit codes: 0 complete, or the remaining part is intact; 4 broken; 1 it could not be verified.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	configFlagOnly(cmd, &f.file) // an argument could be either file
	choose := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if f.ledger != "" {
			return nil // an explicitly named ledger takes precedence over the environment
		}
		return choose(cmd, args)
	}
	f.output = outputFlag(cmd)
	cmd.Flags().StringVar(&f.ledger, "ledger", "", "exported ledger of governance (JSON)")
	cmd.Flags().StringVar(&f.since, "since", "", "an earlier output of -o json, from which the chains must continue")
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command) error {
	switch {
	case f.ledger != "" && f.file != "":
		return usageError(errors.New("-c and --ledger name two audit trails: leave one of them out"))
	case f.ledger != "" && f.since != "":
		return usageError(errors.New("--since needs -c: it does not apply to an exported ledger"))
	case f.ledger != "":
		ledger, err := parseLedger(f.ledger)
		if err != nil {
			return err
		}
		return f.print(cmd, chainsReport{Pipeline: ledger.Pipeline, ReadAt: ledger.ReadAt, Chains: ledger.Verify()})
	}
	before, err := f.before()
	if err != nil {
		return err
	}
	cfg, err := config.Load(f.file)
	if err != nil {
		return usageError(err)
	}
	return withControl(cmd.Context(), cfg, f.file, func(client *kgo.Client, _ control.View) error {
		report := chainsReport{Pipeline: cfg.Pipeline.ID, ReadAt: time.Now().UTC().Truncate(time.Millisecond)}
		report.Chains, err = audit.Verify(cmd.Context(), client, cfg.Topics.Audit, before, func(ctx context.Context) (audit.Heads, error) {
			return chainHeads(ctx, client, cfg)
		})
		if err != nil {
			return fmt.Errorf("verify the audit trail of %s: %w", cfg.Pipeline.ID, err)
		}
		return f.print(cmd, report)
	})
}

// before reads the reports of an earlier call; nil if none is named.
func (f *auditFlags) before() ([]audit.Report, error) {
	if f.since == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.since)
	if err != nil {
		return nil, usageError(fmt.Errorf("--since: %w", err))
	}
	var report chainsReport
	if err := json.Unmarshal(text, &report); err != nil || report.Chains == nil {
		return nil, usageError(fmt.Errorf("--since: %s is not an output of verify audit -o json", f.since))
	}
	return report.Chains, nil
}

// chainHeads reads the heads of all chains of a pipeline, each from the topic of its writers.
func chainHeads(ctx context.Context, client *kgo.Client, cfg *config.Config) (audit.Heads, error) {
	view, err := control.Read(ctx, client.Opts(), cfg.Topics.Control)
	if err != nil {
		return nil, err
	}
	heads := audit.Heads{audit.Orders: view.ChainHeads()}
	if heads[audit.Operators], err = deadletters.ChainHeads(ctx, client, cfg.Topics.DLQStatus); err != nil {
		return nil, err
	}
	if cfg.Governance.On() {
		heads[audit.Governance], err = governance.Heads(ctx, client, cfg.Topics.Governance)
	}
	return heads, err
}

func (f *auditFlags) print(cmd *cobra.Command, report chainsReport) error {
	verdict := verify.Proven
	if audit.Broken(report.Chains) != nil {
		verdict = verify.Violated
	}
	return printVerdict(cmd.OutOrStdout(), f.output, report, verdict)
}

// chainsReport is the result for all chains of an audit trail.
type chainsReport struct {
	Pipeline string         `json:"pipeline"`
	ReadAt   time.Time      `json:"read_at"`
	Chains   []audit.Report `json:"chains"`
}

// Text prints a line for each chain, followed by its faults and losses.
func (r chainsReport) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHAIN\tPARTITION\tENTRIES\tFIRST\tLAST\tSTATE")
	for _, c := range r.Chains {
		state, last := "whole", int64(0)
		switch {
		case c.Fault != "":
			state = "BROKEN"
		case c.Gone != "":
			state = "complete from its first entry"
		}
		if c.Head != nil {
			last = c.Head.Seq
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", c.Chain, c.Partition, c.Entries, c.First, last, state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range r.Chains {
		if problem := c.Fault + c.Gone; problem != "" {
			fmt.Fprintf(out, "%s, partition %d: %s\n", c.Chain, c.Partition, problem)
		}
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", r.Pipeline, r.Line())
	return err
}

// Line returns the verdict in one line.
func (r chainsReport) Line() string {
	broken := 0
	for _, c := range r.Chains {
		if c.Fault != "" {
			broken++
		}
	}
	if broken > 0 {
		return fmt.Sprintf("the audit trail was tampered with or damaged: %d of %s broken", broken, cli.Count(len(r.Chains), "chain"))
	}
	return fmt.Sprintf("%s in the audit trail, none is broken", cli.Count(len(r.Chains), "chain"))
}

func newGovernance() *cobra.Command {
	cmd := &cobra.Command{Use: "governance", Short: "Export the ledger of records that governance stopped"}
	cmd.AddCommand(newGovernanceExport())
	return cmd
}

func newGovernanceExport() *cobra.Command {
	return withFile(&cobra.Command{
		Use:   "export -c FILE > LEDGER.json",
		Short: "Write the ledger to standard output as one JSON object; a ledger with a broken chain is refused",
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		if !cfg.Governance.On() {
			return usageError(fmt.Errorf("%s keeps no ledger: it reads no marks under governance", file))
		}
		return withClient(cmd.Context(), cfg, func(client *kgo.Client) error {
			ledger, err := governance.Read(cmd.Context(), client, cfg)
			if err != nil {
				return err
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(ledger); err != nil {
				return fmt.Errorf("write the ledger: %w", err)
			}
			return audit.Broken(ledger.Verify())
		})
	})
}

// parseLedger reads an exported ledger.
func parseLedger(path string) (governance.Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return governance.Document{}, usageError(fmt.Errorf("read the ledger: %w", err))
	}
	return governance.ParseDocument(text)
}
