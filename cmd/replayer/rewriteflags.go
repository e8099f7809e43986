package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

// rewriteFlags holds the flags that change values.
type rewriteFlags struct {
	rewrite.Spec

	patch, merge, schema string // text or the name of a file
	timeout              time.Duration
}

const programFlag = "filter"

// rewriteFlagNames returns the names of the flags of [rewriteFlags].
func rewriteFlagNames() []string {
	return cli.FlagNames(func(cmd *cobra.Command) {
		new(rewriteFlags).register(cmd, "")
		new(rewriteFlags).registerSubject(cmd, "")
	})
}

// register adds the flags under a heading.
func (r *rewriteFlags) register(cmd *cobra.Command, heading string) {
	cli.GroupFlags(cmd, heading, func() {
		f := cmd.Flags()
		f.StringArrayVar(&r.Set, "set", nil, "field=value, for example properties.AREA=0 or /properties/AREA=0; the value is JSON, else a text")
		f.StringArrayVar(&r.Exprs, "expr", nil, "value.field = expression, for example 'value.status = upper(value.status)'; it reads value, key and headers")
		f.StringVar(&r.patch, "patch", "", "a JSON Patch, as text or @FILE")
		f.StringVar(&r.merge, "merge", "", "a Merge Patch, as text or @FILE")
		f.StringVar(&r.Program, programFlag, "", "a program that reads one value on its input and prints another, for example 'jq -c .payload'; exit code 0 or the dead letter is left")
		f.DurationVar(&r.timeout, "filter-timeout", rewrite.UsualTime, "how long the program may take for one value")
		f.BoolVar(&r.Network, "filter-network", false, "the program may use the network")
		f.StringVar(&r.schema, "schema", "", "a file with the JSON Schema that each result satisfies, or the dead letter is left")
		mustComplete(cmd.MarkFlagFilename("schema"))
	})
}

// registerSubject adds the flags that compare values with their target.
func (r *rewriteFlags) registerSubject(cmd *cobra.Command, heading string) {
	cli.GroupFlags(cmd, heading, func() {
		cmd.Flags().StringVar(&r.Subject, "subject", "", "write each result with the latest schema of this subject of the registry (Avro or JSON Schema), or leave the dead letter")
		cmd.Flags().StringVar(&r.Like, "like", "", "leave each dead letter whose result has other types, or lacks fields, than the newest 1000 values of this topic: a guess from these")
	})
}

// spec returns the rewrite that the flags and their files describe.
func (r *rewriteFlags) spec() (rewrite.Spec, error) {
	s := r.Spec
	s.Network = s.Network && s.Program != ""
	if s.Like != "" && r.schema != "" {
		return s, cli.UsageError("--like and --schema: use only one of them")
	}
	if s.Program != "" {
		if r.timeout <= 0 {
			return s, cli.UsageError("--filter-timeout is %s; use a positive duration", r.timeout)
		}
		s.Seconds = r.timeout.Seconds()
	}
	for _, part := range []struct {
		flag, text string
		file       bool // text is the name of a file
		to         *json.RawMessage
	}{{"patch", r.patch, false, &s.Patch}, {"merge", r.merge, false, &s.Merge}, {"schema", r.schema, true, &s.Schema}} {
		name, isFile := strings.CutPrefix(part.text, "@")
		if part.text == "" {
			continue
		}
		text := []byte(part.text)
		if isFile || part.file {
			var err error
			if text, err = os.ReadFile(name); err != nil { // #nosec G304 -- the operator names the file
				return s, cli.UsageError("--%s: %w", part.flag, err)
			}
		}
		if !json.Valid(text) {
			return s, cli.UsageError("--%s: it is not valid JSON", part.flag)
		}
		*part.to = text
	}
	return s, nil
}

// read returns the rewrite that the flags describe, or nil. It warns if the system cannot run the program without
// network access.
func (a *app) read(r *rewriteFlags) (rewrite.Spec, *rewrite.Rewrite, error) {
	s, err := r.spec()
	if err != nil || s.Empty() {
		return s, nil, err
	}
	made, err := rewrite.New(s)
	if err != nil {
		return s, nil, exit(cli.ExitUsage, err)
	}
	if !s.Network && !made.Isolated() {
		fmt.Fprintln(a.env.Err, "warning: the program of --filter can use the network: this system cannot prevent it")
	}
	return s, made, nil
}
