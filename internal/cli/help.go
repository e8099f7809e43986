package cli

import (
	"cmp"
	"slices"
	"strings"

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
	cmd.Long = fitText(cmp.Or(cmd.Long, cmd.Short))
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
