package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
)

// outputs lists the values of -o, which replayer has too. A report is one object, so ndjson is JSON on one line.
func outputs() []string { return []string{"table", "json", "ndjson"} }

// outputFlag adds the flag -o to cmd.
func outputFlag(cmd *cobra.Command) *outputValue {
	v := new(outputValue)
	cmd.Flags().VarP(v, "output", "o", strings.Join(outputs(), ", "))
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was made one line above
	}
	return v
}

// outputValue is the value of -o.
type outputValue struct{ format string }

func (v *outputValue) String() string {
	if v.format == "" {
		return "table"
	}
	return v.format
}

func (v *outputValue) Type() string { return "string" }

// Set accepts the words of outputs.
func (v *outputValue) Set(s string) error {
	if !slices.Contains(outputs(), s) {
		return fmt.Errorf("use one of %s", strings.Join(outputs(), ", "))
	}
	v.format = s
	return nil
}

// people reports whether a person reads the output.
func (v *outputValue) people() bool { return v.String() == "table" }

// encode writes x for a program.
func (v *outputValue) encode(out io.Writer, x any) error {
	indent := ""
	if v.format == "json" {
		indent = "  "
	}
	text, err := cli.EncodeJSON(x, indent)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text+"\n")
	return err
}
