package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchback-geo/switchback/internal/config"
)

// CommandGroup is a group of commands in the help.
type CommandGroup struct {
	Title    string // as it is printed, without a colon
	Commands []string
}

// ArrangeHelp puts the commands of a program into groups, in their order, and adds the examples of each command. The
// key of an example is the path of the command without the program's name, such as "topics ensure". help and completion
// go into the last group.
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

// HelpWidth is the greatest width of a line of help. Examples are longer: each is one line, because people paste it.
const HelpWidth = 80

// fitHelp breaks the lines of each command's description.
func fitHelp(cmd *cobra.Command) {
	cmd.Long = fitText(cmp.Or(cmd.Long, cmd.Short))
	for _, sub := range cmd.Commands() {
		fitHelp(sub)
	}
}

// fitText breaks paragraphs into lines that fit. An indented line is part of a table and stays as it is.
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

// flagGroup is the annotation of a flag with the heading above it in the help.
const flagGroup = "flag-group"

// GroupFlags puts the flags that register adds under a heading of their own in the command's help.
func GroupFlags(cmd *cobra.Command, heading string, register func()) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	register()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if before[f.Name] {
			return
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[flagGroup] = []string{heading}
	})
}

// flagSections prints a command's own flags: those with a heading first, in the order of the headings, then all others.
func flagSections(cmd *cobra.Command) string {
	var headings []string
	groups := map[string]*pflag.FlagSet{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		heading := "Flags"
		if of := f.Annotations[flagGroup]; len(of) > 0 {
			heading = of[0]
		}
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
			if heading != "Flags" {
				headings = append(headings, heading)
			}
		}
		groups[heading].AddFlag(f)
	})
	var b strings.Builder
	for _, heading := range append(headings, "Flags") {
		if of := groups[heading]; of != nil && of.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n\n%s:\n%s", heading, strings.TrimRightFunc(of.FlagUsagesWrapped(HelpWidth), unicode.IsSpace))
		}
	}
	return b.String()
}

// usage prints the usage of a command by cobra's template, with its flags in sections and within [HelpWidth].
func usage(cmd *cobra.Command) error {
	const begins, ends = "{{if .HasAvailableLocalFlags}}", "{{end}}"
	text := cmd.UsageTemplate()
	before, rest, found := strings.Cut(text, begins)
	_, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		return fmt.Errorf("the template of the help has no flags: %s", text)
	}
	text = before + "{{flagSections .}}" + strings.ReplaceAll(after, "FlagUsages |", fmt.Sprintf("FlagUsagesWrapped %d |", HelpWidth))
	text = strings.ReplaceAll(text, "{{rpad .Name .NamePadding }} {{.Short}}", "{{listed .Name .NamePadding .Short}}")
	trim := func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
	t, err := template.New("usage").Funcs(template.FuncMap{
		"flagSections": flagSections, "trimTrailingWhitespaces": trim, "trimRightSpace": trim, "trim": strings.TrimSpace,
		"rpad": func(s string, padding int) string { return fmt.Sprintf("%-*s", padding, s) }, "listed": listed,
	}).Parse(text)
	if err != nil {
		return fmt.Errorf("help: %w", err)
	}
	return t.Execute(cmd.OutOrStderr(), cmd)
}

// listed returns the entry of a command in a list of commands, without its indent.
func listed(name string, padding int, short string) string {
	return strings.TrimPrefix(WrapText(fmt.Sprintf("  %-*s %s", padding, name, short), HelpWidth, strings.Repeat(" ", padding+3)), "  ")
}

// UnknownCommand returns an error about a word that is not a command. It suggests similar commands.
func UnknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	hint := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return UsageError("unknown command %q for `%s`; %s", word, cmd.CommandPath(), hint)
}

// ExplainFlagErrors turns errors about the flags of a program into usage errors with a hint.
func ExplainFlagErrors(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return UnknownCommand(cmd, words[0]) // the flag is probably one of the intended command
		}
		if hint := FlagHint(cmd, err); hint != "" {
			return UsageError("%w; %s", err, hint)
		}
		return UsageError("%w; see `%s --help`", err, cmd.CommandPath())
	})
}

// executeFlag is the flag with which a command makes its change.
const executeFlag = "execute"

// FlagHint returns what to write instead of an unknown flag. err is the error of parsing the flags of cmd. It returns
// "" if no flag is near.
func FlagHint(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	name := unknown.GetSpecifiedName()
	if slices.Contains(dryRunWords(), name) && cmd.Flags().Lookup(executeFlag) != nil {
		return "a dry run is the default: leave --" + name + " out; --" + executeFlag + " makes the change"
	}
	if len(name) < 2 {
		return "" // every one-letter name is similar
	}
	if near := config.Nearest(name, shownFlags(cmd)); near != "" {
		return "did you mean --" + near + "?"
	}
	return ""
}

// dryRunWords returns the names of other tools for a run that changes nothing.
func dryRunWords() []string {
	return []string{"dry-run", "dryrun", "dry", "no-execute", "noop", "preview", "what-if"}
}

// shownFlags returns the flags in the help of a command.
func shownFlags(cmd *cobra.Command) (names []string) {
	for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
	}
	return names
}
