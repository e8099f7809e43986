//go:build unix

package worker

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
)

// Run runs a worker and returns the exit code of its process: 0 after SIGTERM, 1 if the engine failed, 2 if the settings
// are invalid.
func Run(text string, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := parse(text)
	if err != nil {
		fmt.Fprintln(log, err)
		return 2
	}
	h := &handler{output: s.Output, journal: s.Journal, instance: s.Instance, pipeline: s.Source}
	cfg := s.Config()
	cfg.Handler, cfg.Journal.Event = h.handle, h.note
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	e, err := engine.New(cfg)
	if err != nil {
		fmt.Fprintln(log, err)
		return 2
	}
	fmt.Fprintln(log, "begins")
	if err := e.Run(ctx); err != nil {
		fmt.Fprintln(log, "gave up:", err)
		return 1
	}
	fmt.Fprintln(log, "ends in order")
	return 0
}
