package main

import (
	"bufio"
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
	cmd.Flags().BoolVar(&c.on, createFlag, false, "without a pipeline: make the topics named after the DLQ that keep states, audit and lease, where they are missing")
}

// ownTopics makes sure that there is where to keep what is changed, before the first change. command is the one that makes it.
func (a *app) ownTopics(ctx context.Context, s *replay.Service, c *creating, command string) error {
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

// privileges are the least ones for changes to a DLQ without a pipeline.
func (a *app) privileges() string {
	dlq := a.named.topic
	return fmt.Sprintf("On a cluster with ACLs this needs: Create, Read and Write on topics with the prefix %s.replayer-; Read on topic %s; Write on transactional id %s; and, to put dead letters back, Write on the topics that they go to.",
		dlq, dlq, replay.TransactionalID(dlq))
}

// asks reports whether there is somebody to ask.
func (a *app) asks() bool { return a.env.In != nil && a.env.InTerminal && a.env.ErrTerminal }

// askYes has the operator type yes.
func (a *app) askYes(ctx context.Context, question string) error {
	fmt.Fprintf(a.env.Err, "%s\nType yes to go on: ", cli.CleanText(question, cli.KeepLines))
	said, err := a.typed(ctx)
	if err == nil && said != "yes" {
		err = exit(cli.ExitRefused, fmt.Errorf("refused: %q is not yes; nothing was changed", cli.CleanText(said, cli.OneLine)))
	}
	return err
}

// typed is the next line that the operator types. The end of the input is an answer, too.
func (a *app) typed(ctx context.Context) (string, error) {
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
