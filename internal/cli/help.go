package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// CommandGroup is commands that are for the same.
type CommandGroup struct {
	Title    string // as it is printed, without a colon
	Commands []string
}

// ArrangeHelp puts the commands of a program into groups, in their order, and gives each command its examples, by its path without the
// program's name: "topics ensure". help and completion go into the last group.
func ArrangeHelp(root *cobra.Command, groups []CommandGroup, examples map[string]string) {
	last := ""
	for _, g := range groups {
		last = g.Title
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, cmd := range root.Commands() {
			if slices.Contains(g.Commands, cmd.Name()) {
				cmd.GroupID = g.Title
			}
		}
	}
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	giveExamples(root, root, examples)
	fitHelp(root)
	root.SetUsageFunc(usage)
}

// HelpWidth is how many columns a line of help has at most. Examples are one line each, since they are pasted.
const HelpWidth = 80

// fitHelp breaks the lines of each command's description.
func fitHelp(cmd *cobra.Command) {
	cmd.Long = fitText(cmd.Long)
	for _, sub := range cmd.Commands() {
		fitHelp(sub)
	}
}

// fitText breaks paragraphs into lines that fit. A line that is indented stays as it is: it is part of a table.
func fitText(text string) string {
	var out, words []string
	end := func() {
		if len(words) > 0 {
			out = append(out, WrapText(strings.Join(words, " "), HelpWidth, ""))
		}
		words = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			end()
			out = append(out, line)
			continue
		}
		words = append(words, strings.Fields(line)...)
		if strings.HasSuffix(line, ":") { // a table follows
			end()
		}
	}
	end()
	return strings.Join(out, "\n")
}

func giveExamples(root, cmd *cobra.Command, examples map[string]string) {
	path := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
	if text := strings.TrimSpace(examples[path]); text != "" {
		cmd.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	for _, sub := range cmd.Commands() {
		giveExamples(root, sub, examples)
	}
}

// HelpFaults says what of a program's help is missing or wrong: a command in no group, one without an example, an example that calls
// another command, or gives a flag or an argument that the command does not take. It is for tests, and leaves the flags set.
func HelpFaults(root *cobra.Command) []string {
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
		if !sub.HasSubCommands() {
			out = append(out, exampleFaults(root, sub)...)
		}
		out = append(out, faultsOf(root, sub)...)
	}
	return out
}

// tooWide says which lines of a command's help do not fit, but for its examples.
func tooWide(cmd *cobra.Command) (out []string) {
	text := cmd.Long + "\n" + strings.Replace(cmd.UsageString(), cmd.Example, "", 1)
	for line := range strings.SplitSeq(text, "\n") {
		if n := utf8.RuneCountInString(line); n > HelpWidth {
			out = append(out, fmt.Sprintf("%s: a line of %d columns: %s", cmd.CommandPath(), n, line))
		}
	}
	return out
}

// isCobras says whether cobra adds the command by itself.
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

// shellWords splits a line as a shell does that knows blanks and double quotes. What follows <, > or | is not the command's.
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
