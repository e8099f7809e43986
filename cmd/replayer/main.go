package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/switchback-geo/switchback/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	boundMemory(memoryLimit, garbage)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal stops after the open transaction, a second one at once: but not the one that timeout(1) sends to the
	// process and right after it to its group.
	context.AfterFunc(ctx, func() { time.AfterFunc(100*time.Millisecond, stop) })

	fd := int(os.Stdout.Fd())
	terminal := term.IsTerminal(fd)
	width := 0
	if terminal {
		if columns, _, err := term.GetSize(fd); err == nil {
			width = columns
		}
	}
	return int(Run(ctx, Env{
		Out: os.Stdout, Err: os.Stderr, In: os.Stdin, InTerminal: term.IsTerminal(int(os.Stdin.Fd())), Terminal: terminal, ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())), Width: width,
		Color:   terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Version: cli.ReadBuild(), Now: time.Now, ConfigFile: os.Getenv(cli.PipelineFileVariable),
	}, os.Args[1:]))
}
