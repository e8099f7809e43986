package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// consent is what every command that changes something asks for.
type consent struct {
	execute bool
	reason  string
}

func (c *consent) register(cmd *cobra.Command) {
	cmd.Flags().Duration(waitFlag, 0, "when another replayer is at work, wait so long for it to end, for example 10m")
	cmd.Flags().Bool(takeOverFlag, false, "when another replayer is at work, end it; what it committed stays")
	cmd.Flags().BoolVar(&c.execute, "execute", false, "do it; without this flag it is a dry run")
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for states and audit; mandatory with --execute")
}

// Flags that say what is done when another replayer is at work; [app.leasing] reads them.
const (
	waitFlag     = "wait-for-lease"
	takeOverFlag = "take-over"
)

// leasing reads what a command that changes something is to do when another replayer is at work.
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

// call is what a change is made with.
func (a *app) call(reason string) replay.Call {
	return replay.Call{By: a.by, Reason: reason, Lease: a.lease}
}

// goesOn returns the command that goes on with a change that ended before its end. How many dead letters are left then is not known: of
// many, its dry run says so.
func (a *app) goesOn(command, reason string) func(letters int) string {
	return a.goesOnBy(a.by, command, reason)
}

// goesOnBy is goesOn of a change that somebody else made.
func (a *app) goesOnBy(by, command, reason string) func(letters int) string {
	command += again("actor", by)
	return func(letters int) string {
		if letters > replay.ManyLetters {
			return command + again("reason", cli.CleanText(reason, cli.OneLine))
		}
		return command + " --execute --reason " + a.why(reason)
	}
}

// check refuses a change without a reason before anything is asked of a broker.
func (c *consent) check() error {
	if c.execute && strings.TrimSpace(c.reason) == "" {
		return usage("--execute needs --reason: say why, for example --reason 'mapping of AREA fixed'")
	}
	return nil
}

// forcing lifts the version guard.
type forcing struct{ on bool }

func (f *forcing) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "force-version", false, "let dead letters overwrite newer data of their features, or hide newer values in a compacted topic; needs --reason")
}

// why is the reason for forcing, "" without it. Forcing is always for a reason, dry run or not.
func (f *forcing) why(reason string) (string, error) {
	switch {
	case !f.on:
		return "", nil
	case strings.TrimSpace(reason) == "":
		return "", usage("--force-version needs --reason: say why older data may overwrite newer, for example --reason 'the newer survey was of another parcel'")
	}
	return reason, nil
}

// refused ends a dry run. Off a terminal nobody can have meant to change nothing, so that is an exit code of
// its own.
//
// The reason that was given stands in the printed command again.
func (a *app) refused(command, reason string) error {
	command += again("actor", a.by)
	fmt.Fprintf(a.env.Err, "\nDry run: nothing was changed. To do it:\n  %s --execute --reason %s\n", command, a.why(reason))
	return a.onlyDry()
}

// onlyDry ends a dry run. A script that forgot --execute must not take it for the change.
func (a *app) onlyDry() error {
	if !a.env.Terminal {
		return exit(cli.ExitRefused, errors.New("refused without --execute: the output is not a terminal, so this may be a script that expects a change"))
	}
	return nil
}

// nothingGoesBack ends a dry run of a plan of which nothing would go back.
func (a *app) nothingGoesBack(p *plan.Plan) error {
	fmt.Fprintf(a.env.Err, "\nDry run: nothing would be put back.%s\n", a.nothingPasses(p, false))
	return a.onlyDry()
}

// why is what a printed command gives as the reason: one that is known, or a word to replace.
func (a *app) why(reason string) string {
	if reason == "" {
		return "'why'"
	}
	return quoted(cli.CleanText(reason, cli.OneLine))
}

// sending is how letters go back.
type sending struct {
	includingFailing, wait  bool
	mappingDiffers          bool
	canary                  int
	factor, maxFailed, rate string
	patience, grace         time.Duration
	watchGroup              string
}

func (s *sending) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.includingFailing, "including-failing", false, "also put dead letters back that today's transform refuses (default: only what passes the dry run)")
	f.BoolVar(&s.mappingDiffers, mappingFlag, false, "go on although running instances have another mapping than the dry run")
	f.IntVar(&s.canary, "canary", 0, "put so many dead letters back first and await the consumer's verdict on them")
	f.StringVar(&s.factor, "ramp", "", "then in waves, each so many times larger, for example 10x (default: all the rest)")
	f.StringVar(&s.maxFailed, "max-failed", "", "stop when more than this share of a wave fails again, for example 2% (default with --canary: 0)")
	f.StringVar(&s.rate, "rate", "", "at most so many dead letters, for example 500/s, 30/m")
	f.BoolVar(&s.wait, "wait", false, "until the consumer has finished every dead letter; ends with what became of them")
	f.DurationVar(&s.patience, "patience", replay.UsualPatience, "give up waiting when the consumer finishes no dead letter for so long; 0 is never")
	f.StringVar(&s.watchGroup, "watch-group", "", "without a pipeline: wait after each wave until this consumer group has committed beyond it; then its --grace begins")
	f.DurationVar(&s.grace, "grace", replay.UsualGrace, "without a pipeline: look for so long whether dead letters of a wave die again (--canary, --max-failed)")
}

// again writes a flag as it was given; "" when it was not.
func again(flag, value string) string {
	if value == "" {
		return ""
	}
	return " --" + flag + " " + quoted(value)
}

// flags writes how letters go back as flags again, so that what a dry run prints does not send them otherwise.
func (s *sending) flags() string {
	var b strings.Builder
	for _, f := range []struct {
		name string
		on   bool
	}{{"including-failing", s.includingFailing}, {"wait", s.wait}, {mappingFlag, s.mappingDiffers}} {
		if f.on {
			b.WriteString(" --" + f.name)
		}
	}
	if s.canary != 0 {
		fmt.Fprintf(&b, " --canary %d", s.canary)
	}
	b.WriteString(again("ramp", s.factor) + again("max-failed", s.maxFailed) + again("rate", s.rate) + again("watch-group", s.watchGroup))
	if s.patience != replay.UsualPatience {
		fmt.Fprintf(&b, " --patience %s", s.patience)
	}
	if s.grace != replay.UsualGrace {
		fmt.Fprintf(&b, " --grace %s", s.grace)
	}
	return b.String()
}

// options reads the flags.
func (s *sending) options(call replay.Call) (replay.ExecuteOptions, error) {
	o := replay.ExecuteOptions{
		Call: call, IncludingFailing: s.includingFailing, Wait: s.wait, Patience: s.patience, Grace: s.grace, WatchGroup: s.watchGroup,
		Ramp: ramp.Ramp{Canary: s.canary, Gated: s.maxFailed != ""},
	}
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
			return o, usage("--%s: %w", flag.name, err)
		}
		*flag.to = v
	}
	if err := o.Ramp.Check(); err != nil {
		return o, exit(cli.ExitUsage, err)
	}
	if s.grace < 0 {
		return o, usage("--grace: %s is negative", s.grace)
	}
	if s.patience < 0 {
		return o, usage("--patience: %s is negative", s.patience)
	}
	return o, nil
}
