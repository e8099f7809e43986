package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dlqindex"
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
	var coded *exitError
	var faults *config.Faults
	switch {
	case err == nil:
		return cli.ExitDone, false
	case errors.Is(err, context.Canceled):
		return cli.ExitInterrupted, true
	case errors.As(err, &coded):
		return coded.code, coded.err != nil
	case errors.Is(err, replay.ErrReplaysMayWait):
		return cli.ExitRefused, true
	case errors.As(err, &faults), errors.Is(err, replay.ErrOptions):
		return cli.ExitUsage, true
	case errors.Is(err, replay.ErrLeased):
		return cli.ExitRefused, true
	case isCancelled(err):
		return cli.ExitStopped, true
	case errors.Is(err, replay.ErrNoReplay), errors.Is(err, replay.ErrNoJob), errors.Is(err, replay.ErrNoOperation), errors.Is(err, dlqindex.ErrNoLetter):
		return cli.ExitNothing, true
	default:
		return cli.ExitRuntime, true
	}
}
