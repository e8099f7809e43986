package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

func (a *app) plan() *cobra.Command {
	var sel selection
	var forcing forcing
	var file, reason string
	var going going
	var rewriting rewriting
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Freeze the dead letters of a replay, and what is expected",
		Long: `Select dead letters like replayer replay, run today's transform on each, and write the answer into a
file: ids, content hashes, positions and what is to be expected. Nothing is changed.
replayer replay --plan FILE puts back exactly these dead letters.`,
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			force, err := forcing.why(reason)
			if err == nil && reason != "" && !forcing.on {
				err = usage("a plan changes nothing and needs no --reason; it says why it was made with --force-version")
			}
			if err != nil {
				return err
			}
			o, err := going.options(a)
			if err != nil {
				return err
			}
			o.Force = force
			if o.Rewrite, _, err = a.read(cmd.Context(), &rewriting); err != nil {
				return err
			}
			return a.runPlan(cmd.Context(), &sel, file, o)
		},
	}
	sel.register(cmd)
	going.register(cmd)
	rewriting.register(cmd, "What they become (without a pipeline)")
	rewriting.registerSubject(cmd, "What they become (without a pipeline)")
	a.named.registerIndex(cmd)
	a.named.registerDLQ(cmd)
	forcing.register(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why older data may overwrite newer; mandatory with --force-version")
	cmd.Flags().StringVarP(&file, "file", "f", "", "write the plan into this file (mandatory; it must not exist)")
	mustComplete(cmd.MarkFlagFilename("file"))
	return cmd
}

func (a *app) runPlan(ctx context.Context, sel *selection, file string, o replay.PlanOptions) error {
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	if file == "" {
		return usage("where to? Name the plan's file with -f, for example: -f plan.jsonl")
	}
	if _, err := os.Lstat(file); err == nil {
		return usage("%s exists; a plan is never overwritten", file)
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := s.SavePlan(ctx, filter, o, file)
	if err != nil {
		return err
	}
	if p.Letters == 0 {
		nothing := a.nothingToReplay(p, false) // reads the file
		if err := os.Remove(file); err != nil {
			return err
		}
		return nothing
	}
	if _, err := a.compareMappings(ctx, s, p); err != nil {
		return err
	}
	if err := a.writePlan(p, false); err != nil {
		return err
	}
	a.tellAudiences(ctx, s, p)
	if p.Changes(false) == 0 {
		fmt.Fprintf(a.env.Err, "The plan is %s in %s; it puts nothing back.%s\n", p.ID, file, a.nothingPasses(p, false))
		return nil
	}
	_, err = fmt.Fprintf(a.env.Err, "The plan is %s in %s; to put its dead letters back:\n  replayer replay %s --plan %s%s%s --execute --reason %s\n",
		p.ID, file, a.place(), quoted(file), again(programFlag, p.Rewrite.Program), forceFlag(p), quoted(cli.CleanText(cmp.Or(p.Force, "what was fixed"), cli.OneLine)))
	return err
}

// ofPlan refuses flags that choose dead letters, or how they are sent, beside a plan that says so already.
func ofPlan(cmd *cobra.Command) (err error) {
	allowed := &cobra.Command{}
	new(consent).register(allowed)
	new(sending).register(allowed)
	(&app{}).named.registerIndex(allowed)
	(&app{}).named.registerDLQ(allowed)
	new(creating).register(allowed)
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "plan" && f.Name != "force-version" && f.Name != programFlag && allowed.Flags().Lookup(f.Name) == nil && err == nil {
			err = usage("--%s: a plan says which dead letters go back, and as what: leave the flag out, or make another plan with it", f.Name)
		}
	})
	return err
}

// runPlanned puts back the dead letters of a plan.
func (a *app) runPlanned(ctx context.Context, f *replayFlags) error {
	consent, sending, file := &f.consent, &f.sending, f.plan
	if err := consent.check(); err != nil {
		return err
	}
	options, err := sending.options(a.call(consent.reason))
	if err != nil {
		return err
	}
	options.ForceVersion, options.Program = f.forcing.on, f.rewriting.program
	p, err := plan.Open(file)
	if err != nil {
		return exit(cli.ExitUsage, err)
	}
	if err := a.fits(options, p.To); err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	differs, err := a.compareMappings(ctx, s, p)
	if err != nil {
		return err
	}
	if !consent.execute {
		if err := a.expect(ctx, s, p, sending.includingFailing); err != nil {
			return err
		}
		if p.Changes(options.IncludingFailing) == 0 {
			return a.nothingGoesBack(p)
		}
		return a.refused(fmt.Sprintf("replayer replay %s --plan %s%s%s%s", a.place(), quoted(file), again(programFlag, p.Rewrite.Program), sending.flags(), forceFlag(p)), cmp.Or(consent.reason, p.Force))
	}
	if differs && !sending.mappingDiffers {
		return a.differentMapping(p)
	}
	goOn := fmt.Sprintf("replayer replay %s --plan %s%s%s%s%s --execute --reason %s", a.place(), quoted(file), again(programFlag, p.Rewrite.Program), sending.flags(), forceFlag(p), again("actor", a.by), a.why(consent.reason))
	if err := a.ownTopics(ctx, s, &f.creating, goOn); err != nil {
		return err
	}
	options.GoOn = func(int) string { return goOn }
	return a.execute(ctx, s, p, options)
}

// expect prints a plan, and how old what it says is.
func (a *app) expect(ctx context.Context, s *replay.Service, p *plan.Plan, includingFailing bool) error {
	if err := s.Owns(p); err != nil {
		return err
	}
	if err := a.writePlan(p, includingFailing); err != nil {
		return err
	}
	fmt.Fprintf(a.env.Err, "This was to be expected when the plan was made, at %s; a dead letter that changed its state since is left as it is.\n", p.MadeAt.UTC().Format(time.RFC3339))
	done, err := s.Status(ctx, p.ID)
	if errors.Is(err, replay.ErrNoReplay) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.env.Err, "The plan was applied before, in part or whole: %s put back, %d closed as duplicates; see replayer replays %s %s\n",
		count(done.Attempted, "dead letter"), done.Duplicates, a.place(), p.ID)
	return err
}
