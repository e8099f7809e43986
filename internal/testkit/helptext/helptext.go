// Package helptext checks the help of a command line: groups, examples that can be pasted, and lines that fit a
// terminal.
package helptext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
)

// Faults lists what is missing or wrong in a program's help: a command without a group or an example, or an example that
// calls another command or has a flag or argument that the command does not accept. It leaves the flags set.
func Faults(root *cobra.Command) []string {
	var out []string
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && !isCobras(cmd) {
			out = append(out, cmd.CommandPath()+" is in no group")
		}
	}
	return append(append(out, tooWide(root)...), faultsOf(root, root)...)
}

func faultsOf(root, cmd *cobra.Command) []string {
	var out []string
	for _, sub := range cmd.Commands() {
		if isCobras(sub) || sub.Hidden {
			continue
		}
		if sub.HasSubCommands() {
			out = append(out, tooWide(sub)...)
		} else {
			out = append(out, exampleFaults(root, sub)...)
		}
		out = append(out, faultsOf(root, sub)...)
	}
	return out
}

// tooWide returns the lines of a command's help that are too wide, except in its examples.
func tooWide(cmd *cobra.Command) (out []string) {
	text := cmd.Long + "\n" + strings.Replace(cmd.UsageString(), cmd.Example, "", 1)
	for line := range strings.SplitSeq(text, "\n") {
		if n := utf8.RuneCountInString(line); n > cli.HelpWidth {
			out = append(out, fmt.Sprintf("%s: a line of %d columns: %s", cmd.CommandPath(), n, line))
		}
	}
	return out
}

// isCobras reports whether cobra adds the command on its own.
func isCobras(cmd *cobra.Command) bool { return cmd.Name() == "help" || cmd.Name() == "completion" }

func exampleFaults(root, cmd *cobra.Command) []string {
	if cmd.Example == "" {
		return []string{cmd.CommandPath() + " has no example"}
	}
	out := tooWide(cmd)
	for line := range strings.Lines(cmd.Example) {
		line = strings.TrimSpace(line)
		call, ok := strings.CutPrefix(line, root.Name()+" ")
		if !ok {
			out = append(out, cmd.CommandPath()+": the example does not call it: "+line)
			continue
		}
		found, rest, err := root.Find(shellWords(call))
		if err != nil || found != cmd {
			out = append(out, cmd.CommandPath()+": the example calls another command: "+line)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			out = append(out, fmt.Sprintf("%s: %s: %v", cmd.CommandPath(), line, err))
		} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			out = append(out, fmt.Sprintf("%s: %s: %v", cmd.CommandPath(), line, err))
		}
	}
	return out
}

// shellWords splits a line like a shell that understands only blanks and double quotes. It ignores everything after
// <, > or |.
func shellWords(line string) []string {
	quoted := false
	all := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for i, word := range all {
		if word == "<" || word == ">" || word == "|" {
			return all[:i]
		}
		all[i] = strings.Trim(word, `"`)
	}
	return all
}
