package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/refdata"
	"github.com/switchback-geo/switchback/schemas"
)

func newValidate() *cobra.Command {
	var file string
	var output *outputValue
	var explain, strict bool
	cmd := &cobra.Command{
		Use:   "validate -c FILE [--strict] [--explain-errors]",
		Short: "Check a pipeline file: list every error with its line and the fix",
		Long: `Check a pipeline file. Every error is printed with line, column and the fix. The command reads only this file and
its grid files.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file)
			var report *refdata.GridReport
			if err == nil {
				report, err = describe(cfg, file)
			}
			if faults, ok := errors.AsType[*config.Faults](err); ok {
				fmt.Fprintln(cmd.ErrOrStderr(), faults)
				if !output.people() {
					if err := output.encode(cmd.OutOrStdout(), checked{File: file, Faults: faults.List, Warnings: []config.Fault{}}); err != nil {
						return err
					}
				}
				return usageError(fmt.Errorf("%s: %s", file, cli.Count(len(faults.List), "fault")))
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) || cfg == nil {
				return usageError(err)
			}
			warnings := config.Warnings(cfg)
			if err != nil {
				warnings = append(warnings, refdata.MissingGrids(cfg))
			}
			for _, w := range warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w.Text(file))
			}
			if explain {
				return printErrors(cmd.OutOrStdout(), output, consumer.Explain(cfg))
			}
			err = printValid(cmd.OutOrStdout(), output, checked{
				File: file, Valid: true, Faults: []config.Fault{}, Warnings: append([]config.Fault{}, warnings...), GatesOff: keysOf(gatesOff(cfg)), NullKeys: cfg.Source.NullKeys, Precision: precision(cfg), Coordinates: report,
			})
			if err == nil && strict && len(warnings) > 0 {
				err = cli.ExitError{Code: cli.ExitPartly, Err: fmt.Errorf("%s: %s, and --strict allows none", file, cli.Count(len(warnings), "warning"))}
			}
			return err
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit code 4 if there is a warning")
	cmd.Flags().BoolVar(&explain, "explain-errors", false, "print how this file treats every kind of error")
	output = outputFlag(cmd)
	return cmd
}

// describe reports how exact the coordinates of a pipeline's output are.
func describe(cfg *config.Config, file string) (*refdata.GridReport, error) {
	report, err := refdata.DescribeGrids(cfg)
	if faults, ok := errors.AsType[*config.Faults](err); ok {
		faults.Name = file
	}
	return report, err
}

// checked is the result for a program.
type checked struct {
	File     string         `json:"file"`
	Valid    bool           `json:"valid"`
	Faults   []config.Fault `json:"faults"`
	Warnings []config.Fault `json:"warnings"`
	GatesOff []string       `json:"gates_off,omitempty"` // keys below transform

	NullKeys config.NullKeyRule `json:"null_keys,omitempty"` // what happens to a record without a key

	Precision string `json:"precision,omitempty"` // one sentence: the floor, and the rounding

	// Coordinates is how exact coordinates are; nil if the file has faults, or the grid files are missing.
	Coordinates *refdata.GridReport `json:"coordinates,omitempty"`
}

// printValid prints that a file has no faults, and further useful facts.
func printValid(out io.Writer, output *outputValue, c checked) error {
	if !output.people() {
		return output.encode(out, c)
	}
	fmt.Fprintf(out, "%s: valid, %s\n", c.File, cli.Count(len(c.Warnings), "warning"))
	if len(c.GatesOff) > 0 {
		fmt.Fprintf(out, "gates that are off: %s\n", strings.Join(c.GatesOff, ", "))
	}
	if c.NullKeys == config.NullKeysReject {
		fmt.Fprintln(out, "each record needs a key, such as the ID of its feature; a record without one becomes a dead letter (null_key)")
	}
	fmt.Fprintln(out, c.Precision)
	for _, line := range c.Coordinates.Lines() {
		fmt.Fprintln(out, line)
	}
	return nil
}

// printErrors prints the error table in force.
func printErrors(out io.Writer, output *outputValue, x consumer.Explained) error {
	if !output.people() {
		return output.encode(out, x)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(x.Rules) > 0 {
		fmt.Fprintln(w, "RULES OF THE FILE, the first that fits counts\nCONDITION\tCLASS\tCATEGORY\tALERT\tANSWER")
		for _, r := range x.Rules {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Condition, r.Class, r.Category, r.Alert, r.Answer)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "CODE\tCLASS\tLEVEL\tCATEGORY\tALERT\tANSWER\tWHAT GIVES IT")
	for _, r := range x.Table {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Code, r.Class, r.Level, r.Category, r.Alert, r.Answer, r.Condition)
	}
	return w.Flush()
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the pipeline file, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of the pipeline file that this version reads.

An editor with a YAML language server completes and checks a pipeline file when its first line names the schema:

  # yaml-language-server: $schema=./pipeline.schema.json

The schema knows keys, types, words and ranges. Only consumer validate checks rules about several keys.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schemas.Read(schemas.Pipeline)
			if err != nil {
				return err
			}
			if _, err := cmd.OutOrStdout().Write(text); err != nil {
				return fmt.Errorf("print the schema: %w", err)
			}
			return nil
		},
	}
}
