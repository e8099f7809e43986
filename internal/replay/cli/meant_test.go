package cli

import (
	"strings"
	"testing"
)

func TestTypos_suggest(t *testing.T) {
	d := newDesk(t, true)
	d.fill()
	for _, c := range []struct {
		name string
		code Exit
		args []string
		want string
	}{
		{"a code", ExitNothing, []string{"list", "--code", "coercion"}, "warning: --code coercion: this version has no such code; did you mean coercion_failed?"},
		{"a code beside one that is right", ExitDone, []string{"list", "--code", "geometry_invalid,not_jsn"}, "--code not_jsn: this version has no such code; did you mean not_json?"},
		{"a code of nobody", ExitNothing, []string{"groups", "--code", "zebra"}, "--code zebra: this version has no such code; docs/errors.md lists them"},
		{"a code that would steer a terminal", ExitNothing, []string{"list", "--code", "a\x1b[31m"}, "this version has no such code"},
		{"a code for a change", ExitNothing, []string{"discard", "--code", "coercion"}, "did you mean coercion_failed?"},
		{"a status", ExitUsage, []string{"list", "--status", "pendng"}, "--status pendng: there is no such status; did you mean pending?"},
		{"a status of nobody", ExitUsage, []string{"list", "--status", "zebra"}, "unknown status \"zebra\"; use one of"},
		{"a dry run", ExitUsage, []string{"discard", "--dry-run"}, "a dry run is the default: leave --dry-run out; --execute makes the change"},
		{"a flag", ExitUsage, []string{"list", "--cod", "not_json"}, "did you mean --code?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.want(c.code, append(c.args, "-c", "pipeline.yaml")...)
			if got := d.err.String(); !strings.Contains(got, c.want) || strings.Contains(got, "\x1b[31m") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
	d.want(ExitDone, "list", "-c", "pipeline.yaml", "--code", "geometry_invalid")
	if strings.Contains(d.err.String(), "no such code") {
		t.Errorf("a code that is right: %s", &d.err)
	}
}
