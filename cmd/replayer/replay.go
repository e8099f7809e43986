package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// replayFlags holds the flags of the replay command.
type replayFlags struct {
	sel       selection
	consent   consentFlags
	count     countFlags
	execution executionFlags
	force     forceFlags
	target    targetFlags
	create    createFlags
	rewrite   rewriteFlags
	plan      string // file; "" replays what the filter selects
}

func (a *app) replay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Put dead letters back (dry run without --execute)",
		Long: `Put the selected pending dead letters back into the source topic, each once: dead letters of one
content hash go back once, no matter who runs this, how often, and whatever crashes.

With --brokers (or --profile) and --topic no pipeline is needed: dead letters of other software go back to the topic that
their headers name, which --origin confirms, or all to --to. Their values can be changed on the way (--set, --expr, --patch, --merge,
--filter) and checked against a JSON Schema (--schema) or written with the latest schema of a
subject (--subject); the dry run shows the results.

With --plan, exactly the dead letters of a plan that replayer plan wrote go back. A dead letter whose
state changed since then is left as it is, with the reason, and the rest continues. A replay that
stopped (by itself, by a signal, by a crash) continues when the same plan is given again.

Without --execute nothing is changed: a dry run says what today's transform would make of each
dead letter. It calls no remote step. It first shows whether the running instances have the same mapping;
with --execute nothing goes back if one of them has another, unless --mapping-differs is given.

A dead letter that is older than what took effect for its feature is closed by the consumer as
superseded. With --force-version it overwrites the newer data instead.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("plan") {
				return a.runReplay(cmd.Context(), &f)
			}
			if err := ofPlan(cmd); err != nil {
				return err
			}
			return a.runPlanned(cmd.Context(), &f)
		},
	}
	cmd.Flags().StringVar(&f.plan, "plan", "", "put back exactly the dead letters of the plan in this file")
	mustComplete(cmd.MarkFlagFilename("plan"))
	f.sel.register(cmd)
	f.consent.register(cmd)
	f.count.register(cmd)
	f.execution.register(cmd)
	f.force.register(cmd)
	f.target.register(cmd)
	f.rewrite.register(cmd, "What they become (without a pipeline)")
	f.rewrite.registerSubject(cmd, "What they become (without a pipeline)")
	f.create.register(cmd)
	a.dlqFlags.registerOwn(cmd)
	return cmd
}

// runReplay replays the dead letters that a filter selects.
func (a *app) runReplay(ctx context.Context, f *replayFlags) error {
	filter, err := a.filter(&f.sel)
	if err != nil {
		return err
	}
	o, options, err := f.options(a, filter)
	if err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	if err := a.checkStatesFirst(ctx, s, f, filter); err != nil {
		return err
	}
	p, err := s.Plan(ctx, filter, o)
	if err != nil {
		return err
	}
	a.closing = append(a.closing, func() { _ = p.Close() })
	if p.Letters == 0 {
		return a.nothingToReplay(p, f.consent.execute)
	}
	return a.replayPlan(ctx, s, p, options, f)
}

// runPlanned replays the dead letters of a plan file.
func (a *app) runPlanned(ctx context.Context, f *replayFlags) error {
	if err := f.consent.check(); err != nil {
		return err
	}
	options, err := f.execution.options(a.call(f.consent.reason))
	if err != nil {
		return err
	}
	options.ForceVersion, options.Program = f.force.on, f.rewrite.Program
	p, err := plan.Open(f.plan)
	if err != nil {
		return exit(cli.ExitUsage, err)
	}
	if err := options.Fits(p.To, a.alone()); err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	return a.replayPlan(ctx, s, p, options, f)
}

// replayPlan executes a plan, or shows its effect in a dry run.
func (a *app) replayPlan(ctx context.Context, s *replay.Service, p *plan.Plan, o replay.ExecuteOptions, f *replayFlags) error {
	differs, err := a.compareMappings(ctx, s, p)
	if err != nil {
		return err
	}
	letters := p.Changes(o.IncludingFailing)
	switch {
	case !f.consent.execute:
		return a.previewReplay(ctx, s, p, letters, f)
	case differs && !f.execution.mappingDiffers:
		return a.differentMapping(p)
	case p.Alone() && letters == 0:
		return a.nothingOfAny(p)
	}
	if f.plan == "" {
		if err := a.confirmTargets(ctx, p, f); err != nil {
			return err
		}
		if err := a.confirm(ctx, &f.count)(letters); err != nil {
			return err
		}
	}
	command := a.executing(f.command(a, p, letters), f.consent.reason)
	if err := a.ensureStates(ctx, s, &f.create, command); err != nil {
		return err
	}
	if f.plan == "" {
		command = f.continueCommand(a, p, letters)
	}
	o.ContinueCommand = func(int) string { return command }
	return a.execute(ctx, s, p, o)
}

// previewReplay ends a dry run: it prints the plan and the command that executes it.
func (a *app) previewReplay(ctx context.Context, s *replay.Service, p *plan.Plan, letters int, f *replayFlags) error {
	if f.plan != "" {
		if err := s.Owns(p); err != nil {
			return err
		}
	}
	if err := a.writePlan(p, f.execution.o.IncludingFailing); err != nil {
		return err
	}
	if f.plan != "" {
		if err := a.printAge(ctx, s, p); err != nil {
			return err
		}
	}
	if letters == 0 {
		return a.nothingGoesBack(p)
	}
	a.printAudiences(ctx, s, p)
	a.takeOrigins(p)
	return a.endDryRun(f.command(a, p, letters), cmp.Or(f.consent.reason, p.Force))
}

// options returns the options of the plan and of its execution.
func (f *replayFlags) options(a *app, filter deadletters.Filter) (o replay.PlanOptions, options replay.ExecuteOptions, err error) {
	if err := f.consent.check(); err != nil {
		return o, options, err
	}
	if err := f.count.check(filter, f.consent.execute); err != nil {
		return o, options, err
	}
	if options, err = f.execution.options(a.call(f.consent.reason)); err != nil {
		return o, options, err
	}
	if err := options.Fits(f.target.o.To, a.alone()); err != nil {
		return o, options, err
	}
	if o, err = f.target.options(a); err != nil {
		return o, options, err
	}
	options.ForceVersion, options.Program = f.force.on, f.rewrite.Program
	if o.Rewrite, _, err = a.read(&f.rewrite); err != nil {
		return o, options, err
	}
	o.Force, err = f.force.why(f.consent.reason)
	return o, options, err
}

// command returns the command that replays the given number of dead letters of a plan.
func (f *replayFlags) command(a *app, p *plan.Plan, letters int) string {
	if f.plan == "" {
		return f.ofFilter(a, p.Filter, f.count.expectFlag(letters))
	}
	return "replayer replay " + a.dlqText() + " --plan " + cli.ShellWord(f.plan) + cli.FlagText(programFlag, p.Rewrite.Program) + a.givenFlags(executionFlagNames()...) + forceFlag(p)
}

// ofFilter returns the command that replays the dead letters of a filter.
func (f *replayFlags) ofFilter(a *app, filter deadletters.Filter, expect string) string {
	how := slices.Concat(targetFlagNames(), rewriteFlagNames(), executionFlagNames(), []string{forceVersionFlag})
	return "replayer replay " + a.dlqText() + flagsOf(filter) + allFlag(filter) + expect + a.givenFlags(how...)
}

// checkStatesFirst refuses a complete replay command if the replayer has no place for its states. It checks before the
// plan is made, because planning many dead letters takes long.
func (a *app) checkStatesFirst(ctx context.Context, s *replay.Service, f *replayFlags, filter deadletters.Filter) error {
	named := f.count.expect >= 0 && (f.target.o.To != "" || len(f.target.o.Origins) > 0)
	if !f.consent.execute || !named || f.create.on || a.canAsk() {
		return nil
	}
	return a.ensureStates(ctx, s, &f.create, a.executing(f.ofFilter(a, filter, f.count.expectFlag(f.count.expect)), f.consent.reason))
}

// continueCommand returns the command that continues a stopped replay under the same id. A forced replay needs its
// reason in a dry run, too.
func (f *replayFlags) continueCommand(a *app, p *plan.Plan, letters int) string {
	a.set(replayIDFlag, p.ID)
	if p.Force != "" {
		letters = 0
	}
	return a.continueCommand(f.ofFilter(a, p.Filter, ""), f.consent.reason)(letters)
}

// forceFlag returns --force-version for a forced plan.
func forceFlag(p *plan.Plan) string {
	if p.Force == "" {
		return ""
	}
	return " --" + forceVersionFlag
}

// execute applies a plan and prints the result.
func (a *app) execute(ctx context.Context, s *replay.Service, p *plan.Plan, o replay.ExecuteOptions) error {
	a.warnForced(p)
	if p.To == "" && !p.Alone() {
		for _, obstacle := range s.Obstacles(ctx) {
			fmt.Fprintln(a.env.Err, "Note: "+cli.CleanText(obstacle.Text, cli.OneLine))
		}
	}
	boundMemory(replayLimit, replayGarbage)
	bar := a.bar()
	o.Progress = bar.show
	result, err := s.Execute(ctx, p, o)
	bar.clear()
	if errors.Is(err, operation.ErrOptions) || errors.Is(err, jobs.ErrLeased) && result.Transactions == 0 {
		return err
	}
	if written := a.writeResult(p, result); written != nil && err == nil {
		err = written
	}
	if _, stopped := errors.AsType[*replay.StopError](err); stopped || errors.Is(err, dryrun.ErrRegistry) {
		command := o.ContinueCommand(p.Letters)
		fmt.Fprintf(a.env.Err, "Once the cause is fixed, continue with the rest, and with what failed%s:\n  %s\n", counting(command), command)
	}
	a.printContinueCommand(err, o.ContinueCommand(p.Letters))
	return ending(result, err)
}

// ending returns the error with the exit code of an execution.
func ending(result replay.Result, err error) error {
	_, stopped := errors.AsType[*replay.StopError](err)
	switch {
	case err != nil && errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, jobs.ErrFenced) && result.Transactions == 0 && !errors.Is(err, replay.ErrUndecided):
		return exit(cli.ExitRefused, err)
	case stopped, isCancelled(err), errors.Is(err, jobs.ErrFenced):
		return exit(cli.ExitStopped, err)
	case err != nil && result.Transactions > 0:
		return exit(cli.ExitPartly, err)
	case err != nil:
		return err
	case result.Left > 0 || result.Outcome != nil && result.Outcome.FailedAgain > 0:
		return exit(cli.ExitPartly, nil)
	}
	return nil
}
