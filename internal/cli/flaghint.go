package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchback-geo/switchback/internal/config"
)

// executeFlag is the flag of commands that change something only with it.
const executeFlag = "execute"

// FlagHint says what to write instead of the flag that err, an error of reading the flags of cmd, does not know; "" when nothing is near.
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
		return "" // one letter is near to every other
	}
	if near := config.Nearest(name, shownFlags(cmd)); near != "" {
		return "did you mean --" + near + "?"
	}
	return ""
}

// dryRunWords lists what other tools call a run that changes nothing.
func dryRunWords() []string {
	return []string{"dry-run", "dryrun", "dry", "no-execute", "noop", "preview", "what-if"}
}

// shownFlags lists the flags that a command shows.
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
