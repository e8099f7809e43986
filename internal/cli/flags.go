package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagText returns a blank and a flag with its value for a printed command, or "" if the value is empty.
func FlagText(flag, value string) string {
	if value == "" {
		return ""
	}
	return " --" + flag + " " + ShellWord(value)
}

// FlagNames returns the names of the flags that functions register, in the order of their registration.
func FlagNames(register ...func(*cobra.Command)) (names []string) {
	cmd := &cobra.Command{}
	cmd.Flags().SortFlags = false
	for _, on := range register {
		on(cmd)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// SetFlag sets a flag of a command to another value, like the command line.
func SetFlag(cmd *cobra.Command, name string, values ...string) {
	f := cmd.Flags().Lookup(name)
	f.Changed = true
	if list, isList := f.Value.(pflag.SliceValue); isList {
		_ = list.Replace(values) // lists of text accept every value
		return
	}
	_ = f.Value.Set(values[0]) // text accepts every value
}

// GivenFlags returns flags of a command with their values from the command line, for a printed command. It leaves out
// flags that were not set.
func GivenFlags(cmd *cobra.Command, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case isList:
			for _, value := range list.GetSlice() {
				if f.Value.Type() == "stringSlice" {
					value = ListValue(value)
				}
				b.WriteString(FlagText(name, value))
			}
		case f.Value.Type() == "bool":
			if f.Value.String() == "true" {
				b.WriteString(" --" + name)
			}
		default:
			b.WriteString(FlagText(name, f.Value.String()))
		}
	}
	return b.String()
}

// ListValue quotes a value of a flag that takes a comma-separated list, because the flag is parsed as a line of CSV.
func ListValue(value string) string {
	if !strings.ContainsAny(value, ",\"\r\n") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}
