package cli

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		execute bool // the command has it
		args    []string
		want    string
	}{
		{"a dry run is the default", true, []string{"--dry-run"}, "a dry run is the default: leave --dry-run out; --execute makes the change"},
		{"with a value", true, []string{"--dry-run=false"}, "a dry run is the default: leave --dry-run out; --execute makes the change"},
		{"a command that changes at once has none", false, []string{"--dry-run"}, ""},
		{"a typing error", true, []string{"--exceute"}, "did you mean --execute?"},
		{"a flag of all commands", false, []string{"--confg", "f"}, "did you mean --config?"},
		{"a beginning", false, []string{"--conf", "f"}, "did you mean --config?"},
		{"a hidden flag is not named", false, []string{"--secre"}, ""},
		{"nothing is near", true, []string{"--zebra"}, ""},
		{"one letter", true, []string{"-z"}, ""},
		{"not a matter of names", false, []string{"--limit", "x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, cmd := &cobra.Command{Use: "p"}, &cobra.Command{Use: "c", RunE: func(*cobra.Command, []string) error { return nil }}
			root.PersistentFlags().StringP("config", "c", "", "")
			root.AddCommand(cmd)
			cmd.Flags().Int("limit", 0, "")
			cmd.Flags().Bool("secret", false, "")
			must.Do(t, cmd.Flags().MarkHidden("secret"))
			if c.execute {
				cmd.Flags().Bool("execute", false, "")
			}
			err := cmd.ParseFlags(c.args)
			if err == nil {
				t.Fatal("it was taken")
			}
			if got := FlagHint(cmd, err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := FlagHint(&cobra.Command{}, errors.New("unknown flag: --dry-run")); got != "" {
		t.Errorf("of an error of another kind: %q", got)
	}
}
