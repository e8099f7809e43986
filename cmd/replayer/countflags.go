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

// countFlags holds the flags of a change of many dead letters.
type countFlags struct {
	all    bool
	expect int // negative if it was not given
}

func (b *countFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&b.all, "all", false, "every dead letter: mandatory with --execute when no filter is given")
	b.registerExpect(cmd)
}

func (b *countFlags) registerExpect(cmd *cobra.Command) {
	cmd.Flags().IntVar(&b.expect, "expect", -1, fmt.Sprintf(
		"refuse when another number of dead letters would be changed; mandatory above %d without a terminal", replay.ManyLetters))
}

// check refuses a change of all dead letters without --all.
func (b *countFlags) check(f deadletters.Filter, execute bool) error {
	switch {
	case b.all && !unfiltered(f):
		return cli.UsageError("--all and a filter contradict each other: leave one of them out")
	case execute && !b.all && unfiltered(f):
		return exit(cli.ExitRefused, errors.New("refused: no filter is given, so every dead letter would be changed; nothing was changed. Select dead letters by flags, or add --all"))
	}
	return nil
}

// unfiltered reports whether a filter selects all dead letters that a command can change. A limit counts as a filter.
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

// expectFlag returns --expect if it was given or is mandatory.
func (b *countFlags) expectFlag(letters int) string { return expectFlag(letters, b.expect >= 0) }

func expectFlag(letters int, given bool) string {
	if letters > replay.ManyLetters || given {
		return " --expect " + strconv.Itoa(letters)
	}
	return ""
}

// confirm returns a function that compares the number of dead letters with --expect, or asks for it.
func (a *app) confirm(ctx context.Context, b *countFlags) replay.Confirm {
	return func(letters int) error {
		switch {
		case b.expect >= 0 && letters != b.expect:
			return exit(cli.ExitRefused, fmt.Errorf("refused: --expect is %d, but %s would be changed now; nothing was changed. See which with a dry run (without --execute)", b.expect, cli.Count(letters, "dead letter")))
		case b.expect >= 0, letters <= replay.ManyLetters:
			return nil
		case a.canAsk():
			return a.ask(ctx, "This changes "+cli.Count(letters, "dead letter")+". Type the number", strconv.Itoa(letters))
		}
		return exit(cli.ExitRefused, fmt.Errorf("refused: %s would be changed; nothing was changed. More than %d need --expect N; a dry run (without --execute) prints it",
			cli.Count(letters, "dead letter"), replay.ManyLetters))
	}
}

// canAsk reports whether the program can ask an operator.
func (a *app) canAsk() bool { return a.env.In != nil && a.env.InTerminal && a.env.ErrTerminal }

// ask asks the operator to type an answer.
func (a *app) ask(ctx context.Context, question, want string) error {
	fmt.Fprintf(a.env.Err, "%s to go on: ", cli.CleanText(question, cli.KeepLines))
	answer, err := a.readAnswer(ctx)
	if err == nil && answer != want {
		err = exit(cli.ExitRefused, fmt.Errorf("refused: %q is not %s; nothing was changed", cli.CleanText(answer, cli.OneLine), want))
	}
	return err
}

// readAnswer returns the next line that the operator types; "" at the end of the input.
func (a *app) readAnswer(ctx context.Context) (string, error) {
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
	case answer := <-typed:
		return answer, nil
	}
}

// createFlags holds the flag that allows the replayer to create the topics or the directory for its states of a DLQ
// without a pipeline.
type createFlags struct{ on bool }

const createFlag = "create-topics"

func (c *createFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.on, createFlag, false, "without a pipeline: make the topics named after the DLQ (or the directory of --state-dir) that keep states, audit and lease, where they are missing")
}

// ensureStates ensures before the first change that the replayer can store its states. It creates what is missing if
// the operator agrees. Otherwise its error prints command, which makes the change.
func (a *app) ensureStates(ctx context.Context, s *replay.Service, c *createFlags, command string) error {
	made, why, create, err := a.missingState(ctx, s)
	if err != nil || create == nil {
		return err
	}
	switch {
	case c.on:
		fmt.Fprintf(a.env.Err, "Creating %s\n", made)
	case a.canAsk():
		err = a.ask(ctx, "States must be stored. Once for this DLQ, this is created: "+made+"\nType yes", "yes")
	default:
		err = exit(cli.ExitRefused, fmt.Errorf("refused: states must be stored, and %s\nTo create it and continue:\n  %s --%s", why, command, createFlag))
	}
	if err != nil {
		return err
	}
	return create()
}

// missingState describes the topics or the directory that the first change must create to store states, and explains
// why. create is nil if nothing is missing.
func (a *app) missingState(ctx context.Context, s *replay.Service) (made, why string, create func() error, err error) {
	if path := s.MissingState(); path != "" {
		const loses = "Other machines see nothing of it: no list of what was put back, no lease. Run all replays of this DLQ with this directory, on one machine, from a local disk. If it is lost, all dead letters are pending again, and a replay sends them again."
		why = fmt.Sprintf("there is no state in %s; nothing was changed. If it existed before, restore it: without it, dead letters that were put back go back again.\n%s", path, loses)
		return "directory " + path + "\n" + loses, why, s.CreateState, nil
	}
	missing, err := s.MissingTopics(ctx)
	if err != nil || len(missing) == 0 {
		return "", "", nil, err
	}
	var lines []string
	for _, t := range missing {
		lines = append(lines, "  "+t.String())
	}
	list := strings.Join(lines, "\n")
	why = fmt.Sprintf("the topics for them do not exist; nothing was changed. They are:\n%s\nOn a cluster that allows no new topics, --state-dir stores them in a directory of this machine. "+
		"On a cluster with ACLs, this prints the needed ones:\n  replayer acls %s --principal User:NAME --target TOPIC", list, a.dlqText())
	return "topics:\n" + list, why, func() error { return s.CreateTopics(ctx, missing) }, nil
}
