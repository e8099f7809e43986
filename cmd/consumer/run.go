package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
)

type runFlags struct {
	file, summary, runID, instance, metrics string
	untilEnd, allowQuarantine               bool
	maxDLQRate                              float64
	sla                                     time.Duration
}

func newRun(signals *signals) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the pipeline until it is stopped, or --until-end",
		Long: `Run the pipeline of a configuration file.

On SIGTERM or Ctrl-C it finishes and commits the records in flight and leaves the group. A second signal exits at once.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, signals) },
	}
	configFlag(cmd, &f.file)
	cmd.Flags().BoolVar(&f.untilEnd, "until-end", false, "stop when all records that are in the source now are finished and none waits")
	cmd.Flags().StringVar(&f.summary, "summary", "", "write one JSON object about the run to this file at the end (- for standard output)")
	cmd.Flags().StringVar(&f.runID, "run-id", "", "id of the run in headers, logs and audit (default a random UUID)")
	cmd.Flags().StringVar(&f.instance, "instance", "", "name of this instance, stable across restarts; overrides engine.instance (default the host name, then HOST-2 and so on)")
	cmd.Flags().StringVar(&f.metrics, "metrics", "", `host:port of /metrics, /healthz and /readyz; overrides metrics.listen ("" there turns them off)`)
	cmd.Flags().Float64Var(&f.maxDLQRate, "max-dlq-rate", 0, "largest share of this run's records that may become dead letters, 0 to 1; above it the exit code is 4; default pipeline.tolerance.max_dead_letter_rate (with --until-end)")
	cmd.Flags().DurationVar(&f.sla, "sla", 0, "how long this run may take, such as 10m; a longer run logs a warning, continues, and ends with exit code 4 (with --until-end)")
	cmd.Flags().BoolVar(&f.allowQuarantine, "allow-quarantine", false, "a run that leaves a batch quarantined ends with exit code 0, not 4 (with --until-end)")
	return cmd
}

// limits returns the limits of a bounded run.
func (f runFlags) limits(cmd *cobra.Command) (l consumer.Limits, err error) {
	rate, sla := cmd.Flags().Changed("max-dlq-rate"), cmd.Flags().Changed("sla")
	switch {
	case (rate || sla || f.allowQuarantine) && !f.untilEnd:
		return l, usageError(errors.New("--max-dlq-rate, --sla and --allow-quarantine are limits of a run that ends: add --until-end, or set pipeline.tolerance in the file"))
	case f.maxDLQRate < 0 || f.maxDLQRate > 1:
		return l, usageError(fmt.Errorf("--max-dlq-rate %v: want a share from 0 to 1, such as 0.05", f.maxDLQRate))
	case sla && f.sla <= 0:
		return l, usageError(fmt.Errorf("--sla %v: want a time above 0, such as 10m", f.sla))
	}
	if rate {
		l.MaxDLQRate = &f.maxDLQRate
	}
	l.SLA, l.AllowQuarantine = f.sla, f.allowQuarantine
	return l, nil
}

// firstLevel is the log level until the pipeline file is read.
func firstLevel(cmd *cobra.Command) string {
	if verbose(cmd) {
		return string(config.LogDebug)
	}
	return os.Getenv("SWITCHBACK_LOG_LEVEL")
}

// fileLevel sets the log level of the file, and returns the function by which a reload changes it: with -v it changes
// nothing.
func fileLevel(cmd *cobra.Command, level *slog.LevelVar, cfg *config.Config) *slog.LevelVar {
	if verbose(cmd) {
		return nil
	}
	level.Set(cfg.Log.Level.Slog())
	return level
}

func (f runFlags) run(cmd *cobra.Command, signals *signals) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from the start, so that the signal never ends a consumer
	defer signal.Stop(hangup)
	log, level, err := cli.NewLogger(cmd.ErrOrStderr(), firstLevel(cmd))
	if err != nil {
		return usageError(err)
	}
	if err := summaryProblem(f.summary); err != nil {
		return usageError(fmt.Errorf("--summary: %w", err))
	}
	cfg, err := load(f.file, log)
	if err != nil {
		return err
	}
	level = fileLevel(cmd, level, cfg)
	asRead := *cfg
	if cmd.Flags().Changed("metrics") {
		if _, _, err := net.SplitHostPort(f.metrics); f.metrics != "" && err != nil {
			return usageError(fmt.Errorf("--metrics %q is not host:port; write it as 127.0.0.1:9464, or \"\" to turn it off", f.metrics))
		}
		cfg.Metrics.Listen = f.metrics
	}
	limits, err := f.limits(cmd)
	if err != nil {
		return err
	}
	instance, others, release, err := f.name(cfg, log)
	if err != nil {
		return err
	}
	defer release()
	consumer, err := consumer.New(cfg, consumer.Options{
		Limits: limits, Logger: log, RunID: f.runID, Instance: instance, Version: cli.ReadBuild().Label(), File: &asRead, Level: level,
		AnyPort: others > 0 && !cmd.Flags().Changed("metrics"),
	})
	if err != nil {
		return err
	}
	reloading, stop := context.WithCancel(cmd.Context())
	defer stop()
	go reload(reloading, hangup, f.file, consumer, log)
	work := consumer.Run
	if f.untilEnd {
		work = consumer.RunUntilEnd
	}
	ended := signals.within(cfg.Engine.ShutdownTimeout.Std(), cmd.ErrOrStderr())
	defer ended()
	failed := work(cmd.Context())
	// A run that was paused or failed has a summary too, once it has begun.
	if summary := consumer.Summary(); summary.RunID != "" {
		failed = errors.Join(failed, writeSummary(f.summary, cmd.OutOrStdout(), summary))
	}
	if failed != nil {
		return failed
	}
	if cmd.Context().Err() != nil && (f.untilEnd || !signals.terminated()) {
		return errInterrupted
	}
	return nil
}

// load reads the configuration and logs its warnings.
func load(file string, log *slog.Logger) (*config.Config, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return nil, usageError(err)
	}
	for _, w := range config.Warnings(cfg) {
		log.Warn("configuration", "warning", w.Text(file))
	}
	return cfg, nil
}

// summaryProblem returns the reason why a summary cannot be written to file. It is checked before the run: after
// hours of work, exit code 1 would tell a scheduler that the work has failed.
func summaryProblem(file string) error {
	if file == "" || file == "-" {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		probe, err := os.CreateTemp(filepath.Dir(file), ".switchback-summary-*")
		if err != nil {
			return fmt.Errorf("cannot create %s: %w; name a file in a folder that this process may write to", file, errors.Unwrap(err))
		}
		return errors.Join(probe.Close(), os.Remove(probe.Name()))
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file in it", file)
	case !info.Mode().IsRegular():
		return nil // a pipe or a device: opening it may have an effect
	}
	existing, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return existing.Close()
}

func writeSummary(file string, stdout io.Writer, summary any) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	text = append(text, '\n')
	if file == "-" {
		_, err = stdout.Write(text)
	} else {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// reload reads the pipeline file again at each SIGHUP, until the context ends. A file with a fault changes nothing.
func reload(ctx context.Context, hangup <-chan os.Signal, file string, consumer *consumer.Consumer, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		next, err := config.Load(file)
		if err == nil {
			err = consumer.Reload(ctx, next)
		}
		if err != nil {
			log.ErrorContext(ctx, "SIGHUP: the configuration is not reloaded; the settings stay as they are", "file", file, "error", err)
		}
	}
}

// name returns the name of this instance: --instance, or a name of the host that no other process of the group has.
// It does not check a given name, which may have to take over from a process that hangs. others counts the processes
// that use a name of this host already. Call release after the instance has left its group.
func (f runFlags) name(cfg *config.Config, log *slog.Logger) (instance string, others int, release func(), err error) {
	host, err := os.Hostname()
	if f.instance != "" || err != nil || cfg.Engine.Instance != host {
		return f.instance, 0, func() {}, nil //nolint:nilerr // without a host name, one was given: config.Load sees to it
	}
	own, err := consumer.ReserveInstance(cfg.Source.Group, host)
	if err != nil {
		return "", 0, nil, err
	}
	if own.Taken > 0 {
		log.Info("other instances of this group run on this host; this one took another name", "instance", own.Name, "others", own.Taken)
	}
	return own.Name, own.Taken, func() { _ = own.Release() }, nil // the end of the process releases it in any case
}
