package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
)

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
		a.named.connection.flags()+again("topic", a.named.topic))
}
