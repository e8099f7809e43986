package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/index"
	"github.com/switchback-geo/switchback/internal/replay"
)

// Exit is an exit code of the contract (architecture, section 9). It is a closed list.
type Exit int

// The exit codes.
const (
	ExitDone        Exit = 0   // done
	ExitRuntime     Exit = 1   // a broker, a topic, a record: something outside failed
	ExitUsage       Exit = 2   // the command line or the pipeline file is wrong
	ExitNothing     Exit = 3   // no letter matched
	ExitPartly      Exit = 4   // some letters were done, some not
	ExitRefused     Exit = 5   // a change needs --execute, or --all, or the number of dead letters; or another replayer is at work; or running instances have another mapping; or a replay may not be lost
	ExitHeld        Exit = 6   // stopped by itself: too many letters failed again; or too many are pending (stats --check)
	ExitInterrupted Exit = 130 // stopped by a signal
)

// Exits returns every exit code.
func Exits() []Exit {
	return []Exit{ExitDone, ExitRuntime, ExitUsage, ExitNothing, ExitPartly, ExitRefused, ExitHeld, ExitInterrupted}
}

// exitError ends the command with a code. Its error may be nil: everything was said already.
type exitError struct {
	code Exit
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exit(code Exit, err error) error { return &exitError{code: code, err: err} }

func usage(format string, args ...any) error { return exit(ExitUsage, fmt.Errorf(format, args...)) }

// codeOf gives the exit code of an error and whether there is something left to say about it.
func codeOf(err error) (code Exit, say bool) {
	var coded *exitError
	var faults *config.Faults
	switch {
	case err == nil:
		return ExitDone, false
	case errors.Is(err, context.Canceled):
		return ExitInterrupted, true
	case errors.As(err, &coded):
		return coded.code, coded.err != nil
	case errors.Is(err, replay.ErrReplaysMayWait):
		return ExitRefused, true
	case errors.As(err, &faults), errors.Is(err, replay.ErrOptions):
		return ExitUsage, true
	case errors.Is(err, replay.ErrLeased):
		return ExitRefused, true
	case errors.Is(err, replay.ErrNoReplay), errors.Is(err, replay.ErrNoOperation), errors.Is(err, index.ErrNoLetter):
		return ExitNothing, true
	default:
		return ExitRuntime, true
	}
}
