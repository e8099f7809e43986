package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/target"
)

// targetFlags holds the flags that name a replay and its target.
type targetFlags struct{ o replay.PlanOptions }

const (
	replayIDFlag   = "replay-id"
	originFlag     = "origin"
	maxReplaysFlag = "max-replays"
	keepTimeFlag   = "keep-timestamp"
)

func (g *targetFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&g.o.ID, replayIDFlag, "", "name of the replay (default: the time and a random part)")
	f.StringVar(&g.o.To, "to", "", "send dead letters to this topic instead of the source; they leave the pipeline (status discarded)")
	f.StringSliceVar(&g.o.Origins, originFlag, nil, "without a pipeline: the only topics that dead letters may go back to, as their headers name them; with --execute it is asked for")
	f.IntVar(&g.o.MaxReplays, maxReplaysFlag, target.UsualReplays, "without a pipeline: leave dead letters that were put back this often")
	f.BoolVar(&g.o.KeepTimestamp, keepTimeFlag, false, "without a pipeline: give what goes back the timestamps of the records that died")
}

// options returns the options of the plan.
func (g *targetFlags) options(a *app) (replay.PlanOptions, error) {
	o := g.o
	o.By = a.by
	switch {
	case !a.alone() && (len(o.Origins) > 0 || o.MaxReplays != target.UsualReplays || o.KeepTimestamp):
		return o, cli.UsageError("--%s, --%s and --%s are for a DLQ without a pipeline (--brokers and --topic): a pipeline's dead letters go back to its source", originFlag, maxReplaysFlag, keepTimeFlag)
	case o.MaxReplays < 1:
		return o, cli.UsageError("--%s is %d; use at least 1", maxReplaysFlag, o.MaxReplays)
	case o.To != "" && len(o.Origins) > 0:
		return o, cli.UsageError("--to sends all dead letters to one topic: leave --%s out", originFlag)
	}
	return o, nil
}

// targetFlagNames returns the names of the flags of [targetFlags].
func targetFlagNames() []string { return cli.FlagNames(new(targetFlags).register) }

// takeOrigins adds the targets of a plan as --origin to all commands that are printed afterwards.
func (a *app) takeOrigins(p *plan.Plan) {
	if p.Alone() && p.To == "" {
		a.set(originFlag, slices.Sorted(maps.Keys(p.Targets()))...)
	}
}

// targetsText lists the target topics of a plan with their numbers of dead letters.
func targetsText(p *plan.Plan) string {
	if !p.Alone() {
		return p.Destination()
	}
	var parts []string
	for _, topic := range slices.Sorted(maps.Keys(p.Targets())) {
		parts = append(parts, fmt.Sprintf("%s: %d", topic, p.Targets()[topic]))
	}
	return strings.Join(parts, ", ")
}

// printAudiences prints the consumer groups that will read the replayed records.
func (a *app) printAudiences(ctx context.Context, s *replay.Service, p *plan.Plan) {
	if !p.Alone() || len(p.Targets()) == 0 {
		return
	}
	found, err := s.Audiences(ctx, p)
	if err != nil {
		fmt.Fprintf(a.env.Err, "it is unknown which consumer groups read the records again: %s\n", cli.CleanText(err.Error(), cli.OneLine))
		return
	}
	groups := map[string][]string{}
	for _, x := range found {
		groups[x.Topic] = append(groups[x.Topic], fmt.Sprintf("%s (lag %d)", cli.CleanText(x.Group, cli.OneLine), x.Lag))
	}
	for _, topic := range slices.Sorted(maps.Keys(p.Targets())) {
		switch read := groups[topic]; len(read) {
		case 0:
			fmt.Fprintf(a.env.Err, "No consumer group has committed an offset of %s: perhaps nothing consumes what goes back.\n", topic)
		case 1:
			fmt.Fprintf(a.env.Err, "%s is read by the group %s; --watch-group waits until it has read what goes back.\n", topic, read[0])
		default:
			fmt.Fprintf(a.env.Err, "warning: %s is read by %d groups, and each reads the records again: %s\n", topic, len(read), strings.Join(read, ", "))
		}
	}
}

// confirmTargets asks the operator to confirm target topics that come from headers, because everybody who can write to
// the DLQ can name any topic there.
func (a *app) confirmTargets(ctx context.Context, p *plan.Plan, f *replayFlags) error {
	if !p.Alone() || p.To != "" || len(f.target.o.Origins) > 0 || len(p.Targets()) == 0 {
		return nil
	}
	if a.canAsk() {
		return a.ask(ctx, fmt.Sprintf("The headers of the dead letters say that they go back to %s.\nType yes", targetsText(p)), "yes")
	}
	a.takeOrigins(p)
	return exit(cli.ExitRefused, fmt.Errorf("refused: the target topics come from headers of the dead letters (%s) and are not confirmed; nothing was put back. Confirm them with --%s, or send all dead letters to one topic with --to:\n  %s",
		targetsText(p), originFlag, a.executing(f.command(a, p, p.Changes(f.execution.o.IncludingFailing)), f.consent.reason)))
}

// nothingOfAny ends a replay without replayable dead letters before it creates topics.
func (a *app) nothingOfAny(p *plan.Plan) error {
	if err := a.writePlan(p, false); err != nil {
		return err
	}
	return exit(cli.ExitNothing, errors.New("no dead letter can be put back (see above)"))
}
