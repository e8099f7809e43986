package cli

import (
	"fmt"
	"strings"
	"text/template"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is the annotation of a flag that has a heading of its own in the help.
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

// usage prints how a command is called by cobra's template, with its flags in sections and within [HelpWidth].
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

// listed is the entry of a command in a list of commands, behind two blanks.
func listed(name string, padding int, short string) string {
	return strings.TrimPrefix(WrapText(fmt.Sprintf("  %-*s %s", padding, name, short), HelpWidth, strings.Repeat(" ", padding+3)), "  ")
}
