package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation"
	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/overlay"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// player runs worlds in separate processes.
type player struct {
	binary   string
	withLogs bool
	realTime time.Duration // limit for one world
}

const simulationPackage = "github.com/switchback-geo/switchback/integration/simulation"

// build builds the program that runs one world, in dir.
func build(ctx context.Context, dir string) (binary string, unrepeatable error, err error) { //nolint:revive // the first error is a fact, not a failure
	prepared, err := overlay.Prepare(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	binary = filepath.Join(dir, "world.test")
	args := append([]string{"test", "-c", "-tags", "synctests", "-o", binary}, prepared.Flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, simulationPackage)...) //nolint:gosec // our own flags
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", nil, fmt.Errorf("build the worlds: %w", err)
	}
	return binary, prepared.Unrepeatable, nil
}

// played is the result of one world and its cost.
type played struct {
	plan   plan.Plan
	result simulation.Result
	took   time.Duration // processor time
	output string        // of the process, if it has no result
}

// play runs one world. A process that crashes or hangs breaks a promise, too.
func (pl *player) play(ctx context.Context, p plan.Plan) (played, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, pl.binary, "-test.run=^TestWorld$", "-test.timeout=0") //nolint:gosec // built above
	// With one processor and garbage collection only between worlds, a run repeats another one. The memory limit is for
	// very large worlds.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=2GiB", "GODEBUG=asyncpreemptoff=1", "GOTRACEBACK=all",
		simulation.EnvPlan+"="+p.Text())
	if pl.withLogs {
		cmd.Env = append(cmd.Env, simulation.EnvLogs+"=1")
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return played{}, fmt.Errorf("play a world: %w", err)
	}
	hangs := time.AfterFunc(pl.realTime, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	err := cmd.Wait()
	inTime := hangs.Stop()
	if ctx.Err() != nil {
		return played{}, ctx.Err()
	}
	w := played{plan: p, took: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	var read error
	w.result, w.output, read = parse(out.String())
	if err != nil || read != nil {
		what := fmt.Sprintf("the process ended without a result: %v", errors.Join(err, read))
		if !inTime {
			what = fmt.Sprintf("it did not end within %v of real time", pl.realTime)
		}
		w.result.Violations = []judge.Violation{{Property: judge.Survival, What: what}}
	}
	return w, nil
}

// parse finds the result in the output of a process.
func parse(output string) (result simulation.Result, rest string, err error) {
	before, line, found := strings.Cut(output, simulation.ResultMark)
	if !found {
		return result, output, errors.New("no result")
	}
	line, _, _ = strings.Cut(line, "\n")
	if err := json.Unmarshal([]byte(line), &result); err != nil {
		return result, output, fmt.Errorf("result: %w", err)
	}
	return result, before, nil
}
