package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

// bulk has the flags of a change of many dead letters.
type bulk struct {
	all    bool
	expect int // negative when it was not given
}

func (b *bulk) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&b.all, "all", false, "every dead letter: mandatory with --execute when no filter is given")
	b.registerExpect(cmd)
}

func (b *bulk) registerExpect(cmd *cobra.Command) {
	cmd.Flags().IntVar(&b.expect, "expect", -1, fmt.Sprintf(
		"refuse when another number of dead letters would be changed; mandatory above %d off a terminal", replay.ManyLetters))
}

// check refuses to change everything if nobody said so.
func (b *bulk) check(f deadletters.Filter, execute bool) error {
	switch {
	case b.all && !unfiltered(f):
		return usage("--all and a filter contradict each other: leave one of them out")
	case execute && !b.all && unfiltered(f):
		return exit(cli.ExitRefused, errors.New("refused: no filter is given, so every dead letter would be changed; nothing was. Choose dead letters by flags, or say --all"))
	}
	return nil
}

// unfiltered reports whether a filter selects all dead letters that a command can change. A limit is a choice, too.
func unfiltered(f deadletters.Filter) bool {
	if slices.Equal(f.Statuses, []deadletters.Status{deadletters.Pending}) {
		f.Statuses = nil
	}
	return reflect.DeepEqual(f, deadletters.Filter{})
}

// allFlag returns --all if there is no filter.
func allFlag(f deadletters.Filter) string {
	if unfiltered(f) {
		return " --all"
	}
	return ""
}

// expectFlag returns --expect if it was given, or is mandatory.
func (b *bulk) expectFlag(letters int) string { return expectFlag(letters, b.expect >= 0) }

func expectFlag(letters int, given bool) string {
	if letters > replay.ManyLetters || given {
		return " --expect " + strconv.Itoa(letters)
	}
	return ""
}

// confirm returns a function that compares the number of dead letters with --expect, or asks for it.
func (a *app) confirm(ctx context.Context, b *bulk) replay.Confirm {
	return func(letters int) error {
		switch {
		case b.expect >= 0 && letters != b.expect:
			return exit(cli.ExitRefused, fmt.Errorf("refused: --expect %d, but it is %s now; nothing was changed. See which with a dry run (without --execute)", b.expect, count(letters, "dead letter")))
		case b.expect >= 0, letters <= replay.ManyLetters:
			return nil
		case a.asks():
			return a.ask(ctx, letters)
		}
		return exit(cli.ExitRefused, fmt.Errorf("refused: %s would be changed; nothing was. More than %d want their number: --expect N, as a dry run (without --execute) prints it",
			count(letters, "dead letter"), replay.ManyLetters))
	}
}

// asks reports whether there is somebody to ask.
func (a *app) asks() bool { return a.env.In != nil && a.env.InTerminal && a.env.ErrTerminal }

// askYes has the operator type yes.
func (a *app) askYes(ctx context.Context, question string) error {
	fmt.Fprintf(a.env.Err, "%s\nType yes to go on: ", cli.CleanText(question, cli.KeepLines))
	said, err := a.answered(ctx)
	if err == nil && said != "yes" {
		err = exit(cli.ExitRefused, fmt.Errorf("refused: %q is not yes; nothing was changed", cli.CleanText(said, cli.OneLine)))
	}
	return err
}

// ask has the operator type the number.
func (a *app) ask(ctx context.Context, letters int) error {
	fmt.Fprintf(a.env.Err, "This changes %s. Type the number to go on: ", count(letters, "dead letter"))
	said, err := a.answered(ctx)
	if err == nil && said != strconv.Itoa(letters) {
		err = exit(cli.ExitRefused, fmt.Errorf("refused: %q is not %d; nothing was changed", cli.CleanText(said, cli.OneLine), letters))
	}
	return err
}

// answered returns the next line that the operator types; "" at the end of the input.
func (a *app) answered(ctx context.Context) (string, error) {
	if a.answers == nil {
		a.answers = bufio.NewReader(a.env.In)
	}
	typed := make(chan string, 1)
	go func() {
		line, _ := a.answers.ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case said := <-typed:
		return said, nil
	}
}

// creating consents to the topics in which the replayer keeps what it knows of a DLQ without a pipeline.
type creating struct{ on bool }

const createFlag = "create-topics"

func (c *creating) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.on, createFlag, false, "without a pipeline: make the topics named after the DLQ (or the directory of --state-dir) that keep states, audit and lease, where they are missing")
}

// ownTopics makes sure that there is where to keep what is changed, before the first change. command is the one that makes it.
func (a *app) ownTopics(ctx context.Context, s *replay.Service, c *creating, command string) error {
	if path := s.MissingState(); path != "" {
		return a.ownDirectory(ctx, s, c, path, command)
	}
	missing, err := s.MissingTopics(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	var lines []string
	for _, t := range missing {
		lines = append(lines, "  "+t.String())
	}
	list := strings.Join(lines, "\n")
	switch {
	case c.on:
		fmt.Fprintf(a.env.Err, "Making topics:\n%s\n", list)
	case a.asks():
		err = a.askYes(ctx, "What is changed has to be kept: once for this DLQ, topics are made:\n"+list)
	default:
		err = exit(cli.ExitRefused, fmt.Errorf("refused: what is changed has to be kept in topics that do not exist; nothing was changed. They are:\n%s\n%s\nTo make them and go on:\n  %s --%s",
			list, a.privileges(), command, createFlag))
	}
	if err != nil {
		return err
	}
	return s.CreateTopics(ctx, missing)
}

// stateDirLoses is what a state directory does not do that topics do.
const stateDirLoses = "Other machines see nothing of it: no list of what was put back, no lease. Run all replays of this DLQ with this directory, on one machine, from a local disk. When it is lost, all dead letters are pending again, and would go back again."

// ownDirectory is ownTopics for a state directory.
func (a *app) ownDirectory(ctx context.Context, s *replay.Service, c *creating, path, command string) error {
	switch {
	case c.on:
		fmt.Fprintf(a.env.Err, "Making directory %s\n%s\n", path, stateDirLoses)
	case a.asks():
		if err := a.askYes(ctx, fmt.Sprintf("What is changed has to be kept: once for this DLQ, the directory %s is made. %s", path, stateDirLoses)); err != nil {
			return err
		}
	default:
		return exit(cli.ExitRefused, fmt.Errorf("refused: what is changed has to be kept, and there is no state in %s; nothing was changed. If it was there before, restore it: without it, dead letters that went back go back again.\n%s\nTo make it and go on:\n  %s --%s",
			path, stateDirLoses, command, createFlag))
	}
	return s.CreateState()
}

// privileges says who tells the least privileges, and what to do without them.
func (a *app) privileges() string {
	return fmt.Sprintf("On a cluster that allows no topics, --state-dir keeps it in a directory of this machine. On one with ACLs, this prints what is needed:\n  replayer acls %s --principal User:NAME --target TOPIC",
		a.place())
}
