package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/replay"
)

// exitError ends the command with a code. Its error may be nil: everything was said already.
type exitError struct {
	code cli.Exit
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exit(code cli.Exit, err error) error { return &exitError{code: code, err: err} }

func isCancelled(err error) bool {
	_, is := errors.AsType[*replay.CancelledError](err)
	return is
}

func usage(format string, args ...any) error { return exit(cli.ExitUsage, fmt.Errorf(format, args...)) }

// codeOf gives the exit code of an error and whether there is something left to say about it.
func codeOf(err error) (code cli.Exit, say bool) {
	if coded, own := errors.AsType[*exitError](err); own && !errors.Is(err, context.Canceled) {
		return coded.code, coded.err != nil
	}
	return console.ExitOf(err), err != nil
}
