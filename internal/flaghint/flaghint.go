package flaghint

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchback-geo/switchback/internal/config"
)

// execute is the flag of commands that change something only with it.
const execute = "execute"

// Of says what to write instead of the flag that err, an error of reading the flags of cmd, does not know; "" when nothing is near.
func Of(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	name := unknown.GetSpecifiedName()
	if slices.Contains(dry(), name) && cmd.Flags().Lookup(execute) != nil {
		return "a dry run is the default: leave --" + name + " out; --" + execute + " makes the change"
	}
	if len(name) < 2 {
		return "" // one letter is near to every other
	}
	if near := config.Nearest(name, flagsOf(cmd)); near != "" {
		return "did you mean --" + near + "?"
	}
	return ""
}

// dry lists what other tools call a run that changes nothing.
func dry() []string {
	return []string{"dry-run", "dryrun", "dry", "no-execute", "noop", "preview", "what-if"}
}

// flagsOf lists the flags that a command shows.
func flagsOf(cmd *cobra.Command) (names []string) {
	for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
	}
	return names
}
