package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
)

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

// ask has the operator type the number.
func (a *app) ask(ctx context.Context, letters int) error {
	fmt.Fprintf(a.env.Err, "This changes %s. Type the number to go on: ", count(letters, "dead letter"))
	said, err := a.typed(ctx)
	if err == nil && said != strconv.Itoa(letters) {
		err = exit(cli.ExitRefused, fmt.Errorf("refused: %q is not %d; nothing was changed", cli.CleanText(said, cli.OneLine), letters))
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
