package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
)

func main() {
	os.Exit(int(run(os.Args[1:], os.Stdout, os.Stderr)))
}

// run is main without the process: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) cli.Exit {
	signals := listen(stderr)
	defer signals.close()
	root := newRoot(signals)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(signals.ctx)
	if err != nil && !errors.Is(err, errInterrupted) && !errors.Is(err, errRejected) {
		fmt.Fprintln(stderr, "consumer:", err)
	}
	return exitCode(err)
}

// usageError marks an invalid command line.
func usageError(err error) error { return cli.ExitError{Code: cli.ExitUsage, Err: err} }

var (
	errInterrupted = cli.ExitError{Code: cli.ExitInterrupted, Err: errors.New("interrupted")} // the command was stopped before it was done
	errRejected    = errors.New("rejected")                                                   // the command has printed the refused items
)

func exitCode(err error) cli.Exit {
	exit, marked := errors.AsType[cli.ExitError](err)
	_, paused := errors.AsType[*consumer.PausedError](err)
	_, faults := errors.AsType[*config.Faults](err)
	_, limit := errors.AsType[*consumer.LimitError](err)
	switch {
	case err == nil:
		return cli.ExitDone
	case paused:
		return cli.ExitStopped
	case marked:
		return exit.Code
	case faults:
		return cli.ExitUsage
	case limit:
		return cli.ExitPartly
	default:
		return cli.ExitRuntime
	}
}

func newRoot(signals *signals) *cobra.Command {
	root := &cobra.Command{
		Use:   "consumer",
		Short: "Maps geospatial features from a Kafka topic onto a target schema, with retries and dead letters",
		Long: `Maps geospatial features from a Kafka topic onto a target schema.

A record that fails transiently waits in a retry topic and is tried again. One
that fails permanently goes to a dead letter topic. Start with:  consumer demo

` + cli.PipelineFileHelp + `
Two different files are an error.

` + cli.ExitHelp(),
		Version:       cli.ReadBuild().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("consumer {{.Version}}\n")
	cli.ExplainFlagErrors(root)
	sampled := newInit()
	root.AddCommand(newDemo(), newRun(signals), newValidate(), newDescribe(), newSimulate(), newTopics(), newTransform(),
		newPause(), newResume(), newStatus(), newHealth(), newVerify(), newGovernance(), newSink(), newSchema(), sampled, newVersion())
	root.PersistentFlags().BoolP(verboseFlag, "v", false, "log more to the standard error: which pipeline file is used; with run, everything down to debug")
	for _, cmd := range append(root.Commands(), root) {
		refuseArguments(cmd)
	}
	sampled.Args = oneArgument
	cli.ArrangeHelp(root, groups(), examples())
	return root
}

// refuseArguments makes an unexpected word a usage error that names it.
func refuseArguments(cmd *cobra.Command) {
	group := cmd.HasSubCommands()
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if group {
			return cli.UnknownCommand(cmd, args[0])
		}
		return stray(cmd, args)
	}
	if group && cmd.RunE == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		refuseArguments(sub)
	}
}

// signals ends a context at the first SIGINT or SIGTERM, and the process at the second.
type signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	ch     chan os.Signal
	leave  func(code int) // ends the process
}

// signalError is the cause of the context's end.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return "signal " + e.signal.String() }

func listen(stderr io.Writer) *signals {
	s := &signals{ch: make(chan os.Signal, 2), leave: os.Exit}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	signal.Notify(s.ch, syscall.SIGINT, syscall.SIGTERM)
	go s.watch(stderr)
	return s
}

// sameSignal is the time within which a repeated signal counts as the first one: a caller that stops a process and
// its group, like timeout(1), sends it twice at once.
const sameSignal = 100 * time.Millisecond

func (s *signals) watch(stderr io.Writer) {
	first, ok := <-s.ch
	if !ok {
		return
	}
	at := time.Now()
	s.cancel(signalError{first})
	fmt.Fprintln(stderr, "consumer: stopping; finishing the records in flight; a second signal exits at once")
	for second := range s.ch {
		if time.Since(at) < sameSignal {
			continue
		}
		fmt.Fprintln(stderr, "consumer: exited at once; the next owner of the partitions reprocesses the records in flight")
		s.leave(128 + int(second.(syscall.Signal))) // the shells' convention
		return
	}
}

// within ends the process if it was told to stop and has not done so in time. The next owner reprocesses uncommitted
// records. The caller ends the bound when the work has ended.
func (s *signals) within(limit time.Duration, stderr io.Writer) (end func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-s.ctx.Done():
		}
		late := time.NewTimer(limit)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
			fmt.Fprintf(stderr, "consumer: exited, because it did not stop within engine.shutdown_timeout (%s); the records in flight will be reprocessed\n", limit)
			s.leave(int(cli.ExitRuntime))
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

func (s *signals) close() {
	signal.Stop(s.ch)
	close(s.ch)
}

// terminated reports whether SIGTERM stopped the process: the usual end of a service, not an interruption.
func (s *signals) terminated() bool {
	var cause signalError
	return errors.As(context.Cause(s.ctx), &cause) && cause.signal == syscall.SIGTERM
}

// groups returns the commands by purpose.
func groups() []cli.CommandGroup {
	return []cli.CommandGroup{
		{Title: "Run", Commands: []string{"demo", "run", "pause", "resume"}},
		{Title: "See", Commands: []string{"status", "health", "verify", "describe", "governance"}},
		{Title: "Set up", Commands: []string{"init", "validate", "transform", "simulate", "schema", "topics", "sink", "version"}},
	}
}

// examples returns the examples of each command, by its path.
func examples() map[string]string {
	return map[string]string{
		"demo":              "consumer demo\nconsumer demo --exit",
		"run":               "consumer run -c pipeline.yaml\nconsumer run -c pipeline.yaml --until-end --summary -",
		"pause":             "consumer pause -c pipeline.yaml --reason \"the registry is being moved\"",
		"resume":            "consumer resume -c pipeline.yaml --reason \"the registry is back\"\nconsumer resume -c pipeline.yaml --for 10m --reason \"the backlog has many bad records, all known\"\nconsumer resume -c pipeline.yaml --batch 2026-11-03 --reason \"the owner names are right\"",
		"status":            "consumer status -c pipeline.yaml\nconsumer status -c pipeline.yaml --watch\nconsumer status -c pipeline.yaml -o json | jq .state",
		"health":            "consumer health -c pipeline.yaml",
		"verify records":    "consumer verify records -c pipeline.yaml\nconsumer verify records -c pipeline.yaml --partition 3 --from 1000000",
		"verify table":      "consumer verify table -c pipeline.yaml\nconsumer verify table -c pipeline.yaml --repair",
		"verify audit":      "consumer verify audit -c pipeline.yaml\nconsumer verify audit -c pipeline.yaml -o json > audit.json\nconsumer verify audit -c pipeline.yaml --since audit.json",
		"describe":          "consumer describe -c pipeline.yaml",
		"governance export": "consumer governance export -c pipeline.yaml > ledger.json",
		"init":              "consumer init parcels.geojson --out pipeline.yaml\nconsumer init - --id parcels < parcels.ndjson > pipeline.yaml",
		"validate":          "consumer validate -c pipeline.yaml\nconsumer validate -c pipeline.yaml --strict\nconsumer validate -c pipeline.yaml --explain-errors",
		"transform":         "consumer transform -c pipeline.yaml < in.ndjson > out.ndjson\nconsumer transform -c pipeline.yaml --rejects bad.ndjson --meta < in.ndjson",
		"simulate":          "consumer simulate -c pipeline.yaml\nconsumer simulate -c pipeline.yaml --rate 200 --hours 2 --instances 4\nconsumer simulate -c pipeline.yaml --scenario outage.yaml --expect",
		"schema":            "consumer schema > pipeline.schema.json",
		"topics ensure":     "consumer topics ensure -c pipeline.yaml",
		"topics check":      "consumer topics check -c pipeline.yaml",
		"topics adopt":      "consumer topics adopt -c pipeline.yaml\nconsumer topics adopt -c pipeline.yaml --execute",
		"topics acls":       "consumer topics acls -c pipeline.yaml --principal User:parcels",
		"sink ddl":          "consumer sink ddl -c pipeline.yaml | psql parcels",
		"sink ensure":       "consumer sink ensure -c pipeline.yaml --execute",
		"sink rekey":        "consumer sink rekey -c pipeline.yaml --execute",
		"version":           "consumer version\nconsumer version -o json",
	}
}
