package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// crowd is more dead letters than may be changed without their number.
const crowd = replay.ManyLetters + 1

func newCrowd(t *testing.T, terminal bool) *desk {
	t.Helper()
	d := newDesk(t, terminal)
	for i := range crowd {
		id := fmt.Sprintf("0-%d-aaaaaaaa", 1000+i)
		d.put(letter(0, id, fmt.Sprintf(square, id), "ring 3 crosses itself"))
	}
	return d
}

// A command without a filter changes nothing.
func TestBulk_S4_6_no_filter_is_not_everything(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	for _, command := range [][]string{{"discard"}, {"escalate"}, {"reopen"}, {"replay"}, {"edit", "--set", "properties.a=1"}} {
		args := append(command, "-c", "pipeline.yaml", "--execute", "--reason", "x")
		for _, filter := range [][]string{nil, {"--status", "pending"}} {
			d.want(cli.ExitRefused, append(args, filter...)...)
			d.says("--all")
		}
		d.want(cli.ExitUsage, append(args, "--all", "--code", "timeout")...)
	}
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--status", "pending")
	d.counts(5, "\n")
	d.want(cli.ExitRefused, "discard", "-c", "pipeline.yaml")
	d.says("replayer discard -c pipeline.yaml --all --execute --reason")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x")
	d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--limit", "2", "--execute", "--reason", "a limit is a choice")
}

// Above 100 a script says how many it means; another number changes nothing.
func TestBulk_S4_6_many_letters_want_their_number(t *testing.T) {
	d := newCrowd(t, false)
	for _, verb := range []string{"discard", "replay"} {
		args := []string{verb, "-c", "pipeline.yaml", "--code", "geometry_invalid"}
		d.want(cli.ExitRefused, args...)
		d.says(fmt.Sprintf("--code geometry_invalid --expect %d --execute", crowd))
		d.want(cli.ExitRefused, append(args, "--execute", "--reason", "x")...)
		d.says("--expect N")
		d.want(cli.ExitRefused, append(args, "--execute", "--reason", "x", "--expect", "100")...)
		d.says("nothing was changed")
	}
	d.want(cli.ExitRefused, "discard", "-c", "pipeline.yaml", "--limit", "3", "--expect", "4", "--execute", "--reason", "x") // few, but not so few
	d.want(cli.ExitNothing, "audit", "-c", "pipeline.yaml")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--code", "geometry_invalid", "--expect", fmt.Sprint(crowd), "--execute", "--reason", "x")
}

// On a terminal the number is typed.
func TestBulk_S4_6_a_terminal_asks_for_the_number(t *testing.T) {
	d := newCrowd(t, true)
	d.env.InTerminal, d.env.ErrTerminal = true, true
	args := []string{"discard", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x"}
	for _, typed := range []string{"", "\n", "yes\n", "100\n"} {
		d.env.In = strings.NewReader(typed)
		d.want(cli.ExitRefused, args...)
		d.says(fmt.Sprintf("This changes %d dead letters. Type the number to go on: ", crowd), "nothing was changed")
	}
	d.env.In = strings.NewReader(fmt.Sprintf(" %d \n", crowd))
	d.want(cli.ExitDone, args...)
	operation := regexp.MustCompile(`replayer undo -c pipeline.yaml (discard-\S+) --expect 101 --execute`).FindStringSubmatch(d.err.String())
	must.That(t, operation != nil && strings.Contains(d.out.String(), operation[1]), "stdout %s, stderr %s", &d.out, &d.err)
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "-o", "json", "--operation", operation[1])
	d.want(cli.ExitDone, "undo", "-c", "pipeline.yaml", operation[1], "--expect", fmt.Sprint(crowd), "--execute", "--reason", "by mistake")
	d.prints("changed        101\n")
	d.want(cli.ExitNothing, "undo", "-c", "pipeline.yaml", operation[1])
	d.prints("it was changed since: it is pending")
	d.want(cli.ExitNothing, "undo", "-c", "pipeline.yaml", "discard-1")
	d.want(cli.ExitUsage, "undo", "-c", "pipeline.yaml")
}
