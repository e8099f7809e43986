package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// consentFlags holds the flags of every command that makes changes.
type consentFlags struct {
	execute bool
	reason  string
}

func (c *consentFlags) register(cmd *cobra.Command) {
	cmd.Flags().Duration(waitFlag, 0, "when another replayer is at work, wait this long for it to end, for example 10m")
	cmd.Flags().Bool(takeOverFlag, false, "when another replayer is at work, end it; what it committed stays")
	cmd.Flags().BoolVar(&c.execute, "execute", false, "make the change; without this flag it is a dry run")
	cmd.Flags().StringVar(&c.reason, "reason", "", "reason, for states and audit trail; mandatory with --execute")
}

// These flags decide what happens while another replayer holds the lease. [app.leasing] reads them.
const (
	waitFlag     = "wait-for-lease"
	takeOverFlag = "take-over"
)

// leasing reads what a command does while another replayer holds the lease.
func (a *app) leasing(cmd *cobra.Command) {
	if cmd.Flags().Lookup(takeOverFlag) == nil {
		return
	}
	a.lease.TakeOver, _ = cmd.Flags().GetBool(takeOverFlag) // both are registered
	a.lease.Wait, _ = cmd.Flags().GetDuration(waitFlag)
	a.lease.Waiting = func(holder string) {
		fmt.Fprintf(a.env.Err, "waiting for another replayer: %s\n", cli.CleanText(holder, cli.OneLine))
	}
}

// call returns who makes a change, why, and with which lease.
func (a *app) call(reason string) operation.Call {
	return operation.Call{By: a.by, Reason: reason, Lease: a.lease}
}

// continueCommand returns the command that continues a stopped change. The number of remaining dead letters is unknown
// at that point. For a large change, the command is therefore a dry run that counts them.
func (a *app) continueCommand(command, reason string) func(letters int) string {
	return a.continueCommandBy(a.by, command, reason)
}

// continueCommandBy is continueCommand for a change by another person.
func (a *app) continueCommandBy(by, command, reason string) func(letters int) string {
	command += cli.FlagText("actor", by)
	return func(letters int) string {
		if letters > replay.ManyLetters {
			return command + cli.FlagText("reason", cli.CleanText(reason, cli.OneLine))
		}
		return command + " --execute --reason " + a.why(reason)
	}
}

// executing returns a command with --execute and the reason.
func (a *app) executing(command, reason string) string {
	return command + cli.FlagText("actor", a.by) + " --execute --reason " + a.why(reason)
}

// check refuses a change without a reason before the program connects to a broker.
func (c *consentFlags) check() error {
	if c.execute && strings.TrimSpace(c.reason) == "" {
		return cli.UsageError("--execute needs --reason: say why, for example --reason 'mapping of AREA fixed'")
	}
	return nil
}

// forceFlags holds the flag that turns the version guard off.
type forceFlags struct{ on bool }

func (f *forceFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, forceVersionFlag, false, "let dead letters overwrite newer data of their features, or hide newer values in a compacted topic; needs --reason")
}

// why returns the reason for forcing, or "" if the plan is not forced. Dry runs need a reason, too.
func (f *forceFlags) why(reason string) (string, error) {
	switch {
	case !f.on:
		return "", nil
	case strings.TrimSpace(reason) == "":
		return "", cli.UsageError("--force-version needs --reason: say why older data may overwrite newer, for example --reason 'the newer survey was of another parcel'")
	}
	return reason, nil
}

// endDryRun ends a dry run with the command that makes the change.
func (a *app) endDryRun(command, reason string) error {
	fmt.Fprintf(a.env.Err, "\nDry run: nothing was changed. To do it:\n  %s\n", a.executing(command, reason))
	return a.refuseScript()
}

// refuseScript ends a dry run. Without a terminal it returns an error, because a script that forgot --execute must not
// take a dry run for the change.
func (a *app) refuseScript() error {
	if !a.env.Terminal {
		return exit(cli.ExitRefused, errors.New("refused without --execute: the output is not a terminal, so this may be a script that expects a change"))
	}
	return nil
}

// nothingGoesBack ends a dry run of a plan that replays no dead letter.
func (a *app) nothingGoesBack(p *plan.Plan) error {
	fmt.Fprintf(a.env.Err, "\nDry run: nothing would be put back.%s\n", a.nothingPasses(p, false))
	return a.refuseScript()
}

// why returns the reason for a printed command, or a placeholder that the operator replaces.
func (a *app) why(reason string) string {
	if reason == "" {
		return "'why'"
	}
	return cli.ShellWord(cli.CleanText(reason, cli.OneLine))
}

const forceVersionFlag = "force-version"

// executionFlagNames returns the names of the flags of [executionFlags].
func executionFlagNames() []string { return cli.FlagNames(new(executionFlags).register) }

// executionFlags holds the flags that control how dead letters are replayed.
type executionFlags struct {
	o                       replay.ExecuteOptions
	mappingDiffers          bool
	factor, maxFailed, rate string
}

func (s *executionFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.o.IncludingFailing, "including-failing", false, "also put dead letters back that today's transform refuses (default: only what passes the dry run)")
	f.BoolVar(&s.o.Wait, "wait", false, "wait until the consumer has finished every dead letter, then report their outcomes")
	f.BoolVar(&s.mappingDiffers, mappingFlag, false, "continue although running instances have another mapping than the dry run")
	f.IntVar(&s.o.Ramp.Canary, "canary", 0, "put this many dead letters back first and wait for the consumer's verdict on them")
	f.StringVar(&s.factor, "ramp", "", "then in waves, each this many times larger, for example 10x (default: all the rest)")
	f.StringVar(&s.maxFailed, "max-failed", "", "stop when more than this share of a wave fails again, for example 2% (default with --canary: 0)")
	f.StringVar(&s.rate, "rate", "", "at most this many dead letters, for example 500/s, 30/m, 600/h")
	f.StringVar(&s.o.WatchGroup, "watch-group", "", "without a pipeline: wait after each wave until this consumer group has committed beyond it; then its --grace begins")
	f.DurationVar(&s.o.Patience, "patience", replay.UsualPatience, "give up if the consumer finishes no dead letter for this long; 0: never")
	f.DurationVar(&s.o.Grace, "grace", replay.UsualGrace, "without a pipeline: wait this long to see whether dead letters of a wave fail again (--canary, --max-failed)")
}

// options returns the options of an execution.
func (s *executionFlags) options(call operation.Call) (replay.ExecuteOptions, error) {
	o := s.o
	o.Call, o.Ramp.Gated = call, s.maxFailed != ""
	for _, flag := range []struct {
		name, text string
		read       func(string) (float64, error)
		to         *float64
	}{
		{"ramp", s.factor, ramp.ParseFactor, &o.Ramp.Factor},
		{"max-failed", s.maxFailed, ramp.ParseShare, &o.Ramp.MaxFailed},
		{"rate", s.rate, ramp.ParseRate, &o.Rate},
	} {
		if flag.text == "" {
			continue
		}
		v, err := flag.read(flag.text)
		if err != nil {
			return o, cli.UsageError("--%s: %w", flag.name, err)
		}
		*flag.to = v
	}
	if err := o.Ramp.Check(); err != nil {
		return o, exit(cli.ExitUsage, err)
	}
	if o.Grace < 0 {
		return o, cli.UsageError("--grace: %s is negative", o.Grace)
	}
	if o.Patience < 0 {
		return o, cli.UsageError("--patience: %s is negative", o.Patience)
	}
	return o, nil
}
