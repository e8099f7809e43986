package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

// bulk is what a change of many letters asks for besides [consent].
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

// check refuses to change everything because nobody said what.
func (b *bulk) check(f deadletters.Filter, execute bool) error {
	switch {
	case b.all && !unfiltered(f):
		return usage("--all and a filter contradict each other: leave one of them out")
	case execute && !b.all && unfiltered(f):
		return exit(cli.ExitRefused, errors.New("refused: no filter is given, so every dead letter would be changed; nothing was. Choose dead letters by flags, or say --all"))
	}
	return nil
}

// unfiltered reports whether a filter selects all that a command can change. A limit is a choice, too.
func unfiltered(f deadletters.Filter) bool {
	if slices.Equal(f.Statuses, []deadletters.Status{deadletters.Pending}) {
		f.Statuses = nil
	}
	return reflect.DeepEqual(f, deadletters.Filter{})
}

// flags writes what a command that changes so many letters has to say.
func (b *bulk) flags(f deadletters.Filter, letters int) string {
	return allFlag(f) + b.expectFlag(letters)
}

// allFlag says --all where no filter is given.
func allFlag(f deadletters.Filter) string {
	if unfiltered(f) {
		return " --all"
	}
	return ""
}

// expectFlag is the number where it was given, or has to be.
func (b *bulk) expectFlag(letters int) string { return expectFlag(letters, b.expect >= 0) }

func expectFlag(letters int, given bool) string {
	if letters > replay.ManyLetters || given {
		return " --expect " + strconv.Itoa(letters)
	}
	return ""
}

// confirm holds the number of letters that would be changed against the one that was given, or asks for it.
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
