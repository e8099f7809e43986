package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

func (a *app) plan() *cobra.Command {
	var sel selection
	var forcing forceFlags
	var file, reason string
	var going targetFlags
	var rewriting rewriteFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Write a replay plan: dead letters with their forecast",
		Long: `Select dead letters like replayer replay, run today's transform on each, and write the result to a
file: ids, content hashes, positions and the forecast. Nothing is changed.
replayer replay --plan FILE puts back exactly these dead letters.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			force, err := forcing.why(reason)
			if err == nil && reason != "" && !forcing.on {
				err = cli.UsageError("a plan changes nothing: --reason is only for --force-version")
			}
			if err != nil {
				return err
			}
			o, err := going.options(a)
			if err != nil {
				return err
			}
			o.Force = force
			if o.Rewrite, _, err = a.read(&rewriting); err != nil {
				return err
			}
			return a.runPlan(cmd.Context(), &sel, file, o)
		},
	}
	sel.register(cmd)
	going.register(cmd)
	rewriting.register(cmd, "What they become (without a pipeline)")
	rewriting.registerSubject(cmd, "What they become (without a pipeline)")
	a.dlqFlags.registerOwn(cmd)
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
		return cli.UsageError("name the file of the plan with -f, for example: -f plan.jsonl")
	}
	if _, err := os.Lstat(file); err == nil {
		return cli.UsageError("%s exists; a plan is never overwritten", file)
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
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
	a.printAudiences(ctx, s, p)
	if p.Changes(false) == 0 {
		fmt.Fprintf(a.env.Err, "The plan is %s in %s; it puts nothing back.%s\n", p.ID, file, a.nothingPasses(p, false))
		return nil
	}
	_, err = fmt.Fprintf(a.env.Err, "The plan is %s in %s; to put its dead letters back:\n  replayer replay %s --plan %s%s%s --execute --reason %s\n",
		p.ID, file, a.dlqText(), cli.ShellWord(file), cli.FlagText(programFlag, p.Rewrite.Program), forceFlag(p), cli.ShellWord(cli.CleanText(cmp.Or(p.Force, "what was fixed"), cli.OneLine)))
	return err
}

// ofPlan refuses flags whose value the plan fixes: the filter, the target and the rewrite.
func ofPlan(cmd *cobra.Command) (err error) {
	allowed := append(cli.FlagNames(new(consentFlags).register, new(executionFlags).register, new(dlqFlags).registerOwn, new(createFlags).register), "plan", forceVersionFlag, programFlag)
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains(allowed, f.Name) && err == nil {
			err = cli.UsageError("--%s: the plan determines this: leave the flag out, or make another plan with it", f.Name)
		}
	})
	return err
}

// printAge prints the age of the forecast of a plan, and whether the plan was executed before.
func (a *app) printAge(ctx context.Context, s *replay.Service, p *plan.Plan) error {
	fmt.Fprintf(a.env.Err, "This is the forecast from %s, when the plan was made; a dead letter whose state changed since is left as it is.\n", p.MadeAt.UTC().Format(time.RFC3339))
	done, err := s.Status(ctx, p.ID)
	if errors.Is(err, states.ErrNoReplay) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.env.Err, "The plan was applied before, in part or completely: %s put back, %d closed as duplicates; see replayer replays %s %s\n",
		cli.Count(done.Attempted, "dead letter"), done.Duplicates, a.dlqText(), p.ID)
	return err
}

// mappingFlag allows a replay while running instances use another mapping than the dry run.
const mappingFlag = "mapping-differs"

// compareMappings prints the mappings of the running instances and reports whether one is known to differ from the
// mapping of the plan. An unknown mapping does not count as different. Plans for another topic are not compared,
// because the instances do not read it.
func (a *app) compareMappings(ctx context.Context, s *replay.Service, p *plan.Plan) (differs bool, err error) {
	if p.To != "" || p.Alone() {
		return false, nil
	}
	c, err := s.Mappings(ctx, p)
	switch {
	case errors.Is(err, context.Canceled):
		return false, err
	case err != nil:
		fmt.Fprintln(a.env.Err, "Note: "+cli.CleanText(fmt.Sprintf("it is unknown which mapping the instances of %s run: %v", p.Pipeline, err), cli.OneLine))
		return false, nil
	}
	whose := a.configFile
	if p.Mapping != "" {
		whose = "this plan, made at " + dlq.TimeText(p.MadeAt)
	}
	for _, line := range c.Lines(whose) {
		fmt.Fprintln(a.env.Err, cli.CleanText(line, cli.OneLine))
	}
	if c.Differs() {
		fmt.Fprintln(a.env.Err, "Warning: the forecast was made with a mapping that not every running instance has. Their results may differ.")
	}
	return c.Differs(), nil
}

// differentMapping returns the error of a replay that instances with another mapping prevent. compareMappings printed
// the instances.
func (a *app) differentMapping(p *plan.Plan) error {
	return exit(cli.ExitRefused, fmt.Errorf("refused: nothing was put back, because running instances have another mapping than %s (see above); "+
		"restart all of them with the same pipeline file, or make the plan with the file that they run; --%s goes on as it is", p.ID, mappingFlag))
}

// runningMappings prints which running instances have the mapping of the pipeline file.
func (a *app) runningMappings(ctx context.Context, s *replay.Service) {
	if a.alone() {
		return
	}
	c, err := s.Mappings(ctx, nil)
	if err != nil {
		fmt.Fprintln(a.env.Err, "Note: "+cli.CleanText(fmt.Sprintf("it is unknown which mapping the running instances have: %v", err), cli.OneLine))
		return
	}
	for _, line := range c.Lines(a.configFile) {
		fmt.Fprintln(a.env.Err, cli.CleanText(line, cli.OneLine))
	}
}
