package cmdhelp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cmdhelp"
)

// program has two commands: "see thing", with a flag, and "do".
func program() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root, see := &cobra.Command{Use: "tool"}, &cobra.Command{Use: "see"}
	thing := &cobra.Command{Use: "thing", Run: run, Args: cobra.NoArgs}
	thing.Flags().StringP("file", "f", "", "")
	see.AddCommand(thing)
	root.AddCommand(see, &cobra.Command{Use: "do", Run: run})
	return root
}

func TestArrange_groupsCommandsAndGivesExamples(t *testing.T) {
	root := program()
	cmdhelp.Arrange(root, []cmdhelp.Group{{"Look", []string{"see"}}, {"Act", []string{"do"}}},
		map[string]string{"see thing": "tool see thing -f x\ntool see thing --file \"x y\" > y", "do": "tool do"})
	if faults := cmdhelp.Faults(root); len(faults) > 0 {
		t.Error(faults)
	}
	var out strings.Builder
	root.SetOut(&out)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	look, act, see := strings.Index(out.String(), "Look:"), strings.Index(out.String(), "Act:"), strings.Index(out.String(), "  see")
	if look < 0 || see < look || act < see {
		t.Errorf("%s", &out)
	}
}

func TestFaults_namesWhatIsMissingOrWrong(t *testing.T) {
	all := []cmdhelp.Group{{"All", []string{"see", "do"}}}
	for name, c := range map[string]struct {
		groups   []cmdhelp.Group
		examples map[string]string
		says     string
	}{
		"no group":        {all[:0], map[string]string{"see thing": "tool see thing", "do": "tool do"}, "tool do is in no group"},
		"no example":      {all, map[string]string{"do": "tool do"}, "tool see thing has no example"},
		"another command": {all, map[string]string{"see thing": "tool do", "do": "tool do"}, "calls another command"},
		"not called":      {all, map[string]string{"see thing": "see thing", "do": "tool do"}, "does not call it"},
		"unknown flag":    {all, map[string]string{"see thing": "tool see thing --fil x", "do": "tool do"}, "unknown flag: --fil"},
		"unknown short":   {all, map[string]string{"see thing": "tool see thing -x", "do": "tool do"}, "unknown shorthand flag: 'x'"},
		"an argument":     {all, map[string]string{"see thing": `tool see thing -f "a b" c`, "do": "tool do"}, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			root := program()
			cmdhelp.Arrange(root, c.groups, c.examples)
			if got := fmt.Sprint(cmdhelp.Faults(root)); !strings.Contains(got, c.says) {
				t.Errorf("%s, want %q", got, c.says)
			}
		})
	}
}
