package console

import (
	"context"
	"errors"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// ExitOf returns the exit code of an error of the services behind the console. The commands use it, too.
func ExitOf(err error) cli.Exit {
	_, faults := errors.AsType[*config.Faults](err)
	_, cancelled := errors.AsType[*jobs.CancelledError](err)
	switch {
	case err == nil:
		return cli.ExitDone
	case errors.Is(err, context.Canceled):
		return cli.ExitInterrupted
	case errors.Is(err, replay.ErrReplaysMayWait), errors.Is(err, jobs.ErrLeased):
		return cli.ExitRefused
	case faults, errors.Is(err, operation.ErrOptions):
		return cli.ExitUsage
	case cancelled:
		return cli.ExitStopped
	case errors.Is(err, states.ErrNoReplay), errors.Is(err, jobs.ErrNoJob), errors.Is(err, replay.ErrNoOperation), errors.Is(err, dlqindex.ErrNoLetter):
		return cli.ExitNothing
	default:
		return cli.ExitRuntime
	}
}

// Explain returns the exit code of an error and the error unchanged, for consoles whose users need no other words.
func Explain(err error) (cli.Exit, error) { return ExitOf(err), err }
