package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestIndex_S4_6_a_damaged_file_is_named_and_rebuilt(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	file := []string{"-c", "pipeline.yaml", "--index", "dead.sqlite"}
	d.want(cli.ExitDone, append([]string{"stats"}, file...)...)
	figures := d.out.String()
	whole := must.Get(os.ReadFile("dead.sqlite"))(t)
	const page = 16384
	damaged := append(append(bytes.Clone(whole[:page]), bytes.Repeat([]byte{0x5a}, page)...), whole[2*page:]...)
	must.Do(t, os.WriteFile("dead.sqlite", damaged, 0o600))
	for _, command := range []string{"list", "groups", "stats", "index", "plan -f plan.jsonl", "replay", "discard", "edit --set properties.a=1"} {
		d.want(cli.ExitRuntime, append(strings.Fields(command), file...)...)
		said := d.err.String()
		expect.That(t, strings.Contains(said, "dead.sqlite is damaged") && strings.Contains(said, "replayer index --rebuild") && d.out.Len() == 0, "%s: %s%s", command, &d.out, said)
	}
	d.want(cli.ExitDone, append([]string{"index", "--rebuild"}, file...)...)
	d.says("dead.sqlite.damaged")
	d.want(cli.ExitDone, append([]string{"index", "--check"}, file...)...)
	d.want(cli.ExitDone, append([]string{"stats"}, file...)...)
	expect.That(t, d.out.String() == figures, "%s\nbefore the damage:\n%s", &d.out, figures)
}
